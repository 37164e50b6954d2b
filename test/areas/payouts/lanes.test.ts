import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { membersHash, payoutMemo } from '#areas/payouts/batches/members.ts';
import { advanceNonce, advanceSubject } from '#areas/payouts/lanes/advance.ts';
import { readLaneHistory } from '#areas/payouts/lanes/history.ts';
import { reconcileLanes } from '#areas/payouts/lanes/reconcile.ts';
import { selectLane } from '#areas/payouts/lanes/rows.ts';
import { insertUnknownTransactions, matchTransactions } from '#areas/payouts/lanes/unmatched-transactions.ts';
import { run } from '#platform/db/query-builder.ts';
import type { FetchedTransaction, ParsedInstruction } from '#platform/solana/fetched-transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import type { HistoryEntry } from '#platform/solana/rpc-node.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { nonceAccount, randomAddress, type StoredLane, storeLane } from '#test/support/areas/payout-rows.ts';
import { createAllPayments, eventsOf, paymentRequest } from '#test/support/areas/payouts.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';
import { meanwhile } from '#test/support/meanwhile.ts';

const USDC = randomAddress();

let t: TestApp;
/** The accounts, transactions and histories that the RPC node of the application returns; the histories are newest first. */
const accounts = new Map<string, string>();
const transactions = new Map<string, FetchedTransaction>();
const histories = new Map<string, readonly HistoryEntry[]>();
/** The slot of each response. */
let slot = 1_000;

beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { USDC_MINT: USDC } });
  const { node } = t.app.chain;
  const account = (address: string) => {
    const nonce = accounts.get(address);
    return nonce === undefined ? null : nonceAccount(nonce);
  };
  node.account = async (address) => ({ slot, account: account(address.toBase58()) });
  node.accounts = async (addresses) => ({ slot, accounts: addresses.map((address) => account(address.toBase58())) });
  node.transaction = async (signature) => transactions.get(signature) ?? null;
  node.history = async (address, { limit, before, until }) => {
    const all = histories.get(address.toBase58()) ?? [];
    const [first, end] = [before, until].map((signature) => all.findIndex((one) => one.signature === signature));
    return all.slice((first ?? -1) + 1, end === -1 ? undefined : end).slice(0, limit);
  };
});
beforeEach(async () => {
  slot = 1_000;
  await sql(t.app, 'update payout_lanes set batch = null');
  await sql(t.app, 'delete from payout_lanes');
});
afterAll(() => t.close());

const entry = (signature: string, at: number): HistoryEntry => ({ signature, slot: at, failed: false, final: true, memo: null, blockTime: null });

async function laneOf(stored: StoredLane) {
  const [lane] = await run(t.app.db, selectLane(stored.lane));
  if (!lane) throw new Error('the lane does not exist');
  return lane;
}

interface Payment {
  readonly wallet: string;
  readonly amount: bigint;
  readonly mint?: string;
}

/** Adds a transaction to the chain. It uses a nonce of a lane and pays wallets. @returns its signature */
function addTransaction(
  { address }: StoredLane,
  nonce: string,
  { payments = [], memo, failed = false, at = 500 }: { payments?: readonly Payment[]; memo?: string; failed?: boolean; at?: number } = {},
): string {
  const signature = randomSignature();
  const transfer = ({ wallet, amount, mint = USDC }: Payment): ParsedInstruction => {
    const data = Buffer.alloc(10);
    data.writeUInt8(12, 0);
    data.writeBigUInt64LE(amount, 1);
    const to = associatedTokenAddress(parseAddress(wallet), parseAddress(mint)).toBase58();
    return { program: TOKEN_PROGRAM.toBase58(), accounts: [randomAddress(), mint, to, randomAddress()], data };
  };
  const text = memo === undefined ? [] : [{ program: MEMO_PROGRAM.toBase58(), accounts: [], data: Buffer.from(memo) }];
  const advance = { program: SYSTEM_PROGRAM.toBase58(), accounts: [address], data: Buffer.from([4, 0, 0, 0]) };
  transactions.set(signature, {
    signature,
    slot: at,
    blockTime: null,
    blockhash: nonce,
    signers: [],
    instructions: [advance, ...text, ...payments.map(transfer)],
    outcome: { failed, tokensBefore: [], tokensAfter: [], innerInstructions: [] },
  });
  histories.set(address, [entry(signature, at), ...(histories.get(address) ?? [])]);
  return signature;
}

/** Stores an attempt with a nonce. */
async function storeAttempt({ address }: StoredLane, nonce: string, signature: string, state: string): Promise<void> {
  await sql(
    t.app,
    `with added as (insert into chain_transactions (kind, subject, state) values ('payout-batch', $1, 'live') returning id)
     insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, preamble, nonce_account, nonce, signed_slot, spends, spend_day)
     select id, 1, $2, $1, '', '{}', 1, $3, $4, 1, '[]', 1 from added`,
    [signature, state, address, nonce],
  );
}

test('a transaction that advances a nonce is composed only while the account has this nonce', async () => {
  const lane = await storeLane(t.app);
  const subject = advanceSubject(lane.lane, lane.nonce);
  accounts.set(lane.address, lane.nonce);
  expect(await advanceNonce.compose(t.app, subject)).toMatchObject({ do: 'sign', nonce: { value: lane.nonce } });
  accounts.set(lane.address, randomAddress());
  expect(await advanceNonce.compose(t.app, subject)).toMatchObject({ do: 'fail', error: { name: 'NonceUsed' } });
  accounts.delete(lane.address);
  expect(await advanceNonce.compose(t.app, subject)).toMatchObject({ do: 'fail', error: { name: 'NonceUsed' } });
  expect(await advanceNonce.compose(t.app, advanceSubject(lane.lane + 1_000, lane.nonce))).toMatchObject({ do: 'manual' });
});

test('the history of a lane lists the uses of its nonces, oldest first, with the source and the state of each', async () => {
  const lane = await storeLane(t.app);
  const nonces = Array.from({ length: 6 }, randomAddress);
  const signatures = nonces.map((nonce, i) =>
    addTransaction(lane, nonce, { at: 500 + i, payments: i === 3 ? [] : [{ wallet: randomAddress(), amount: 5n }], failed: i === 4 }),
  );
  const [paid = '', live = '', dead = ''] = signatures;
  await storeAttempt(lane, nonces[0] ?? '', paid, 'finalized');
  await storeAttempt(lane, nonces[1] ?? '', live, 'sent');
  await storeAttempt(lane, nonces[2] ?? '', dead, 'dead');
  const { uses, fresh, complete } = await readLaneHistory(t.app, await laneOf(lane), slot);
  expect(complete).toBe(true);
  const use = (i: number, by: string, settled: boolean) => ({ signature: signatures[i], slot: 500 + i, nonce: nonces[i], by, settled });
  expect(uses).toEqual([
    use(0, 'attempt', true),
    use(1, 'attempt', false),
    use(2, 'unknown', false),
    use(3, 'unknown', true),
    use(4, 'unknown', true),
    use(5, 'unknown', false),
  ]);
  expect(fresh.map(({ signature, harmless }) => [signature, harmless]).sort()).toEqual(
    [
      [dead, null],
      [signatures[3], 'the transaction only advances the nonce'],
      [signatures[4], 'the transaction landed with an error'],
      [signatures[5], null],
    ].sort(),
  );
  // Stored transactions are not read again, and keep their verdict.
  await t.app.tx((tx) => insertUnknownTransactions(tx, lane, fresh));
  await sql(t.app, `update payout_findings set verdict = 'acknowledged' where signature = $1`, [dead]);
  const again = await readLaneHistory(t.app, await laneOf(lane), slot);
  expect(again).toMatchObject({ fresh: [], complete: true });
  expect(again.uses.map(({ settled }) => settled)).toEqual([true, false, true, true, true, false]);
});

test('a transaction that uses no nonce of the lane is harmless and is no use of a nonce', async () => {
  const lane = await storeLane(t.app);
  addTransaction({ ...lane, address: randomAddress() }, randomAddress());
  const signature = addTransaction(lane, randomAddress());
  const found = transactions.get(signature);
  if (!found) throw new Error('the transaction does not exist');
  transactions.set(signature, { ...found, instructions: found.instructions.slice(1) });
  const { uses, fresh } = await readLaneHistory(t.app, await laneOf(lane), slot);
  expect(uses).toEqual([]);
  expect(fresh).toMatchObject([{ signature, nonce: null, harmless: 'the transaction uses no nonce' }]);
});

test('at most 100 unknown transactions of a lane are read at once, and the history is complete after all are stored', async () => {
  const lane = await storeLane(t.app);
  for (let i = 0; i < 101; i++) addTransaction(lane, randomAddress(), { at: 500 + i });
  const first = await readLaneHistory(t.app, await laneOf(lane), slot);
  expect([first.fresh.length, first.uses.length, first.complete]).toEqual([100, 100, false]);
  await t.app.tx((tx) => insertUnknownTransactions(tx, lane, first.fresh));
  const second = await readLaneHistory(t.app, await laneOf(lane), slot);
  expect([second.fresh.length, second.uses.length, second.complete]).toEqual([1, 101, true]);
});

test('the history of a lane is incomplete while the RPC node does not have one of its transactions', async () => {
  const lane = await storeLane(t.app);
  transactions.delete(addTransaction(lane, lane.nonce));
  expect(await readLaneHistory(t.app, await laneOf(lane), slot)).toEqual({ uses: [], fresh: [], complete: false });
});

test('the history of a lane has the transactions after the last stored one only, from all pages', async () => {
  const lane = await storeLane(t.app);
  const signatures = Array.from({ length: 2_101 }, randomSignature);
  const list = signatures.map((signature, i) => entry(signature, 5_000 - i));
  histories.set(lane.address, list);
  await t.app.tx((tx) =>
    tx.query(
      {
        text: `insert into payout_findings (signature, lane, address, nonce, slot, transfers, verdict)
          select s, $2, $3, s, 1, '[]', 'harmless' from unnest($1::text[]) as s`,
      },
      [signatures, lane.lane, lane.address],
    ),
  );
  const all = await readLaneHistory(t.app, await laneOf(lane), slot);
  expect(all.complete).toBe(true);
  expect(all.uses.map(({ signature }) => signature)).toEqual(signatures.toReversed());
  await sql(t.app, 'update payout_lanes set landed = $2, landed_slot = $3 where lane = $1', [lane.lane, signatures[1_050], 5_000 - 1_050]);
  const recent = await readLaneHistory(t.app, await laneOf(lane), slot);
  expect(recent.uses.map(({ signature }) => signature)).toEqual(signatures.slice(0, 1_050).toReversed());
  // The RPC node does not know the last stored transaction, so only its slot limits the history.
  await sql(t.app, 'update payout_lanes set landed = $2 where lane = $1', [lane.lane, randomSignature()]);
  expect((await readLaneHistory(t.app, await laneOf(lane), slot)).uses.length).toBe(1_050);
});

test('an empty history is complete only for a lane whose nonce is stored', async () => {
  const lane = await storeLane(t.app);
  expect(await readLaneHistory(t.app, await laneOf(lane), slot)).toMatchObject({ complete: true });
  expect(await readLaneHistory(t.app, { ...(await laneOf(lane)), nonce: null }, slot)).toMatchObject({ complete: false });
});

const stateOf = async (lane: StoredLane) =>
  (
    await sql<{ nonce: string; stale: boolean; landed: string | null; accepted: boolean }>(
      t.app,
      'select nonce, stale, landed, accepted from payout_lanes where lane = $1',
      [lane.lane],
    )
  )[0];

test('a stale lane whose nonce did not advance is free again', async () => {
  const lane = await storeLane(t.app, { stale: true });
  accounts.set(lane.address, lane.nonce);
  expect(await reconcileLanes(t.app, 'stale')).toEqual({ clear: true, problems: [] });
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, stale: false });
});

test('a lane gets its new nonce after the transaction that used the old one is settled', async () => {
  const lane = await storeLane(t.app, { stale: true });
  const next = randomAddress();
  accounts.set(lane.address, next);
  const signature = addTransaction(lane, lane.nonce, { payments: [{ wallet: randomAddress(), amount: 5n }] });
  await storeAttempt(lane, lane.nonce, signature, 'confirmed');
  expect(await reconcileLanes(t.app, 'stale')).toEqual({ clear: false, problems: [] });
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, stale: true });
  await sql(t.app, `update chain_attempts set state = 'finalized' where signature = $1`, [signature]);
  expect(await reconcileLanes(t.app, 'stale')).toEqual({ clear: true, problems: [] });
  expect(await stateOf(lane)).toEqual({ nonce: next, stale: false, landed: signature, accepted: false });
});

test('a lane waits while the RPC node is behind the slot of its nonce or of its last transaction', async () => {
  const lane = await storeLane(t.app, { stale: true });
  accounts.set(lane.address, lane.nonce);
  for (const column of ['nonce_slot', 'landed_slot']) {
    await sql(t.app, `update payout_lanes set nonce_slot = 0, landed_slot = 0`);
    await sql(t.app, `update payout_lanes set ${column} = $1`, [slot + 1]);
    expect(await reconcileLanes(t.app, 'stale')).toEqual({ clear: false, problems: [] });
    expect(await stateOf(lane)).toMatchObject({ stale: true });
    await sql(t.app, `update payout_lanes set ${column} = $1`, [slot]);
    expect(await reconcileLanes(t.app, 'all')).toEqual({ clear: true, problems: [] });
    await sql(t.app, 'update payout_lanes set stale = true');
  }
});

test('a nonce that no known transaction used is reported after the waiting time', async () => {
  const lane = await storeLane(t.app);
  accounts.set(lane.address, randomAddress());
  addTransaction(lane, randomAddress());
  await sql(t.app, 'update payout_lanes set changed_at = app_now()');
  expect(await reconcileLanes(t.app, 'all')).toEqual({ clear: false, problems: [] });
  await sql(t.app, `update payout_lanes set changed_at = app_now() - interval '1 hour'`);
  expect(await reconcileLanes(t.app, 'all')).toEqual({
    clear: false,
    problems: [`lane ${lane.lane}: the nonce ${lane.nonce} was used by an unknown transaction`],
  });
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce });
});

test('a nonce account that disappeared is reported, and a lane whose account was never read is not', async () => {
  const [lost, unread] = [await storeLane(t.app), await storeLane(t.app)];
  await sql(t.app, 'update payout_lanes set nonce = null where lane = $1', [unread.lane]);
  expect(await reconcileLanes(t.app, 'all')).toEqual({
    clear: false,
    problems: [`the nonce account ${lost.address} of lane ${lost.lane} does not exist any more`],
  });
});

/** Stores a transaction on a lane that pays payments, as a reconciliation finds it. @returns its signature */
async function storeUnknown(lane: StoredLane, payments: readonly (Payment & { id: string })[], hash?: string): Promise<string> {
  const memo = payoutMemo('00000000-0000-4000-8000-000000000000', hash ?? membersHash(payments.map(({ id }) => id)));
  const signature = addTransaction(lane, lane.nonce, { payments, memo });
  const { fresh } = await readLaneHistory(t.app, await laneOf(lane), slot);
  await t.app.tx((tx) => insertUnknownTransactions(tx, lane, fresh));
  return signature;
}

async function createPayments(n: number): Promise<(Payment & { id: string })[]> {
  const requests = Array.from({ length: n }, (_, i) => paymentRequest({ amount: BigInt(100 + i) }));
  const created = await createAllPayments(t, requests);
  return created.map(({ id }, i) => ({ id, wallet: requests[i]?.wallet ?? '', amount: requests[i]?.amount ?? 0n }));
}
const paymentStates = async (payments: readonly { id: string }[]) =>
  await sql(t.app, 'select p.state, p.signature from unnest($1::uuid[]) with ordinality as o(id, n) join payments p on p.id = o.id order by o.n', [
    payments.map(({ id }) => id),
  ]);
const verdictOn = async (signature: string) =>
  (await sql(t.app, 'select verdict, reason, payments::text[] from payout_findings where signature = $1', [signature]))[0];

test('an unknown transaction completes the payments that it made in each open state, with one event each', async () => {
  const lane = await storeLane(t.app);
  const payments = await createPayments(4);
  for (const [i, state] of ['pending', 'batched', 'manual'].entries()) {
    await sql(t.app, 'update payments set state = $2 where id = $1', [payments[i]?.id, state]);
  }
  const signature = await storeUnknown(lane, payments);
  await sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1`, [payments[3]?.id, signature]);
  expect(await t.app.tx((tx) => matchTransactions(t.app, tx, lane))).toEqual([]);
  expect(await paymentStates(payments)).toEqual(payments.map(() => ({ state: 'completed', signature })));
  expect(await verdictOn(signature)).toEqual({ verdict: 'matched', reason: null, payments: payments.map(({ id }) => id) });
  const counts = await Promise.all(payments.map(async ({ id }) => (await eventsOf(t, { id, created: true })).length));
  expect(counts).toEqual([1, 1, 1, 0]);
});

test('a payment that another database transaction completes during the matching is not completed a second time', async () => {
  const lane = await storeLane(t.app);
  const payments = await createPayments(2);
  const signature = await storeUnknown(lane, payments);
  const other = randomSignature();
  const concurrent = meanwhile(t.app, 'select_payments_that_may_be_paid', () =>
    sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1`, [payments[0]?.id, other]),
  );
  await expect(concurrent.tx((tx) => matchTransactions(concurrent, tx, lane))).rejects.toThrow('changed while they were matched');
  expect(await paymentStates(payments)).toEqual([
    { state: 'completed', signature: other },
    { state: 'pending', signature: null },
  ]);
  expect(await verdictOn(signature)).toMatchObject({ verdict: 'unmatched' });
});

test('an unknown transaction completes no payment when a wallet, an amount, the token, the hash or the memo differs', async () => {
  const [payment] = await createPayments(1);
  if (!payment) throw new Error('no payment was created');
  const cases: [Partial<Payment>, string | undefined, string][] = [
    [{ wallet: randomAddress() }, undefined, 'but no open payment has this amount and account'],
    [{ amount: payment.amount + 1_000n }, undefined, 'but no open payment has this amount and account'],
    [{ mint: randomAddress() }, undefined, 'it pays a token that is not configured'],
    [{}, '0'.repeat(32), 'its transfers equal open payments, but the hash in its memo is that of other payments'],
    [{}, 'no hash', 'it has no batch memo or no transfers'],
  ];
  for (const [change, hash, reason] of cases) {
    const lane = await storeLane(t.app);
    const signature = await storeUnknown(lane, [{ ...payment, ...change }], hash);
    const [problem, ...others] = await t.app.tx((tx) => matchTransactions(t.app, tx, lane));
    expect(others).toEqual([]);
    expect(problem).toContain(`unmatched transaction ${signature}: `);
    expect(problem).toContain(reason);
    expect(await verdictOn(signature)).toMatchObject({ verdict: 'unmatched', reason: expect.stringContaining(reason), payments: [] });
  }
  expect(await paymentStates([payment])).toEqual([{ state: 'pending', signature: null }]);
});

test('a completed payment explains only the transaction with its own signature, and a payment of the orchestrator explains none', async () => {
  const [payment] = await createPayments(1);
  if (!payment) throw new Error('no payment was created');
  const lane = await storeLane(t.app);
  const signature = await storeUnknown(lane, [payment]);
  await sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1`, [
    payment.id,
    randomSignature(),
  ]);
  expect(await t.app.tx((tx) => matchTransactions(t.app, tx, lane))).toMatchObject([expect.stringContaining('no open payment')]);
  expect(await verdictOn(signature)).toMatchObject({ verdict: 'unmatched' });
});
