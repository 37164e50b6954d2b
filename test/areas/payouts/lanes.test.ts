import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { advanceNonce, advanceSubject } from '#areas/payouts/lanes/advance.ts';
import { readLaneHistory } from '#areas/payouts/lanes/history.ts';
import { reconcileLanes } from '#areas/payouts/lanes/reconcile.ts';
import { insertUnknownTransactions } from '#areas/payouts/lanes/unmatched-transactions.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress, type StoredLane, storeLane } from '#test/support/areas/payout-rows.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';
import { historyEntry, LaneChain } from './lane-chain.ts';

let chain: LaneChain;
let t: TestApp;
beforeAll(async () => {
  chain = await LaneChain.start();
  t = chain.t;
});
beforeEach(() => chain.reset());
afterAll(() => t.close());

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
  chain.accounts.set(lane.address, lane.nonce);
  expect(await advanceNonce.compose(t.app, subject)).toMatchObject({ do: 'sign', nonce: { value: lane.nonce } });
  chain.accounts.set(lane.address, randomAddress());
  expect(await advanceNonce.compose(t.app, subject)).toMatchObject({ do: 'fail', error: { name: 'NonceUsed' } });
  chain.accounts.delete(lane.address);
  expect(await advanceNonce.compose(t.app, subject)).toMatchObject({ do: 'fail', error: { name: 'NonceUsed' } });
  expect(await advanceNonce.compose(t.app, advanceSubject(lane.lane + 1_000, lane.nonce))).toMatchObject({ do: 'manual' });
});

test('the history of a lane lists the uses of its nonces, oldest first, with the source and the state of each', async () => {
  const lane = await storeLane(t.app);
  const nonces = Array.from({ length: 6 }, randomAddress);
  const signatures = nonces.map((nonce, i) =>
    chain.addTransaction(lane, nonce, { at: 500 + i, payments: i === 3 ? [] : [{ wallet: randomAddress(), amount: 5n }], failed: i === 4 }),
  );
  const [paid = '', live = '', dead = ''] = signatures;
  await storeAttempt(lane, nonces[0] ?? '', paid, 'finalized');
  await storeAttempt(lane, nonces[1] ?? '', live, 'sent');
  await storeAttempt(lane, nonces[2] ?? '', dead, 'dead');
  const { uses, fresh, complete } = await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot);
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
  const again = await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot);
  expect(again).toMatchObject({ fresh: [], complete: true });
  expect(again.uses.map(({ settled }) => settled)).toEqual([true, false, true, true, true, false]);
});

test('a transaction that uses no nonce of the lane is harmless and is no use of a nonce', async () => {
  const lane = await storeLane(t.app);
  chain.addTransaction({ ...lane, address: randomAddress() }, randomAddress());
  const signature = chain.addTransaction(lane, randomAddress());
  const found = chain.transactions.get(signature);
  if (!found) throw new Error('the transaction does not exist');
  chain.transactions.set(signature, { ...found, instructions: found.instructions.slice(1) });
  const { uses, fresh } = await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot);
  expect(uses).toEqual([]);
  expect(fresh).toMatchObject([{ signature, nonce: null, harmless: 'the transaction uses no nonce' }]);
});

test('at most 100 unknown transactions of a lane are read at once, and the history is complete after all are stored', async () => {
  const lane = await storeLane(t.app);
  for (let i = 0; i < 101; i++) chain.addTransaction(lane, randomAddress(), { at: 500 + i });
  const first = await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot);
  expect([first.fresh.length, first.uses.length, first.complete]).toEqual([100, 100, false]);
  await t.app.tx((tx) => insertUnknownTransactions(tx, lane, first.fresh));
  const second = await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot);
  expect([second.fresh.length, second.uses.length, second.complete]).toEqual([1, 101, true]);
});

test('the history of a lane is incomplete while the RPC node does not have one of its transactions', async () => {
  const lane = await storeLane(t.app);
  chain.transactions.delete(chain.addTransaction(lane, lane.nonce));
  expect(await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot)).toEqual({ uses: [], fresh: [], complete: false });
});

test('the history of a lane has the transactions after the last stored one only, from all pages', async () => {
  const lane = await storeLane(t.app);
  const signatures = Array.from({ length: 2_101 }, randomSignature);
  const list = signatures.map((signature, i) => historyEntry(signature, 5_000 - i));
  chain.histories.set(lane.address, list);
  await t.app.tx((tx) =>
    tx.query(
      {
        text: `insert into payout_findings (signature, lane, address, nonce, slot, transfers, verdict)
          select s, $2, $3, s, 1, '[]', 'harmless' from unnest($1::text[]) as s`,
      },
      [signatures, lane.lane, lane.address],
    ),
  );
  const all = await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot);
  expect(all.complete).toBe(true);
  expect(all.uses.map(({ signature }) => signature)).toEqual(signatures.toReversed());
  await sql(t.app, 'update payout_lanes set landed = $2, landed_slot = $3 where lane = $1', [lane.lane, signatures[1_050], 5_000 - 1_050]);
  const recent = await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot);
  expect(recent.uses.map(({ signature }) => signature)).toEqual(signatures.slice(0, 1_050).toReversed());
  // The RPC node does not know the last stored transaction, so only its slot limits the history.
  await sql(t.app, 'update payout_lanes set landed = $2 where lane = $1', [lane.lane, randomSignature()]);
  expect((await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot)).uses.length).toBe(1_050);
});

test('an empty history is complete only for a lane whose nonce is stored', async () => {
  const lane = await storeLane(t.app);
  expect(await readLaneHistory(t.app, await chain.laneOf(lane), chain.slot)).toMatchObject({ complete: true });
  expect(await readLaneHistory(t.app, { ...(await chain.laneOf(lane)), nonce: null }, chain.slot)).toMatchObject({ complete: false });
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
  chain.accounts.set(lane.address, lane.nonce);
  expect(await reconcileLanes(t.app, 'stale')).toEqual({ clear: true, problems: [] });
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, stale: false });
});

test('a lane gets its new nonce after the transaction that used the old one is settled', async () => {
  const lane = await storeLane(t.app, { stale: true });
  const next = randomAddress();
  chain.accounts.set(lane.address, next);
  const signature = chain.addTransaction(lane, lane.nonce, { payments: [{ wallet: randomAddress(), amount: 5n }] });
  await storeAttempt(lane, lane.nonce, signature, 'confirmed');
  expect(await reconcileLanes(t.app, 'stale')).toEqual({ clear: false, problems: [] });
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, stale: true });
  await sql(t.app, `update chain_attempts set state = 'finalized' where signature = $1`, [signature]);
  expect(await reconcileLanes(t.app, 'stale')).toEqual({ clear: true, problems: [] });
  expect(await stateOf(lane)).toEqual({ nonce: next, stale: false, landed: signature, accepted: false });
});

test('a lane waits while the RPC node is behind the slot of its nonce or of its last transaction', async () => {
  const lane = await storeLane(t.app, { stale: true });
  chain.accounts.set(lane.address, lane.nonce);
  for (const column of ['nonce_slot', 'landed_slot']) {
    await sql(t.app, `update payout_lanes set nonce_slot = 0, landed_slot = 0`);
    await sql(t.app, `update payout_lanes set ${column} = $1`, [chain.slot + 1]);
    expect(await reconcileLanes(t.app, 'stale')).toEqual({ clear: false, problems: [] });
    expect(await stateOf(lane)).toMatchObject({ stale: true });
    await sql(t.app, `update payout_lanes set ${column} = $1`, [chain.slot]);
    expect(await reconcileLanes(t.app, 'all')).toEqual({ clear: true, problems: [] });
    await sql(t.app, 'update payout_lanes set stale = true');
  }
});

test('a nonce that no known transaction used is reported after the waiting time', async () => {
  const lane = await storeLane(t.app);
  chain.accounts.set(lane.address, randomAddress());
  chain.addTransaction(lane, randomAddress());
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
