import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { payoutBatch } from '#areas/payouts/batches/transaction-type.ts';
import { advanceNonce, advanceSubject } from '#areas/payouts/lanes/advance.ts';
import { reconcileLanes } from '#areas/payouts/lanes/reconcile.ts';
import { resumePayouts } from '#areas/payouts/reconciliation/pause.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress, type StoredLane, storeLane } from '#test/support/areas/payout-rows.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';
import { historyEntry, LaneChain, OPENED_SLOT } from './lane-chain.ts';

let chain: LaneChain;
let t: TestApp;
beforeAll(async () => {
  chain = await LaneChain.start();
  t = chain.t;
});
beforeEach(() => chain.reset());
afterAll(() => t.close());

/** Stores an attempt with a nonce. */
async function storeAttempt({ address }: StoredLane, nonce: string, signature: string, state: string, slot: number | null = null): Promise<void> {
  await sql(
    t.app,
    `with added as (insert into chain_transactions (kind, subject, state) values ('payout-batch', $1, 'live') returning id)
     insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, preamble, nonce_account, nonce, signed_slot, slot, spends, spend_day)
     select id, 1, $2, $1, '', '{}', 1, $3, $4, 1, $5::int8, '[]', 1 from added`,
    [signature, state, address, nonce, slot],
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

const stateOf = async (lane: StoredLane) =>
  (
    await sql<{ nonce: string; stale: boolean; landed: string | null; accepted: boolean; reason: string | null }>(
      t.app,
      'select nonce, stale, landed, accepted, reason from payout_lanes where lane = $1',
      [lane.lane],
    )
  )[0];

const readLanes = (readsHistory = false) => reconcileLanes(t.app, 'stale', { readsHistory });
const clear = { clear: true, problems: [], unexplained: 0, stuck: 0 };
const waiting = { clear: false, problems: [], unexplained: 0, stuck: 0 };
const reading = { clear: false, problems: [], unexplained: 1, stuck: 0 };

/** Lets the lanes wait for `ms` longer. */
const passTime = (ms: number) => sql(t.app, 'update payout_lanes set waiting_since = waiting_since - make_interval(secs => $1 / 1000.0)', [ms]);

test('a stale lane whose nonce did not advance is free again', async () => {
  const lane = await chain.newLane();
  chain.accounts.set(lane.address, lane.nonce);
  expect(await readLanes()).toEqual(clear);
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, stale: false });
});

test('a lane gets its new nonce from its own finalized transaction, without its history, whatever strangers send to it', async () => {
  const lane = await chain.newLane();
  chain.addStrangers(lane, 25_000);
  const signature = chain.addTransaction(lane, lane.nonce, { at: 30_000 });
  chain.accounts.set(lane.address, chain.nonceAfter(30_000));
  chain.slot = 30_010;
  await storeAttempt(lane, lane.nonce, signature, 'confirmed', 30_000);
  expect(await readLanes(true)).toEqual(waiting);
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, stale: true, reason: expect.stringContaining('probably landed') });
  for (const state of ['finalized', 'failed']) {
    await sql(t.app, 'update chain_attempts set state = $2 where signature = $1', [signature, state]);
    await sql(t.app, 'update payout_lanes set nonce = $2, nonce_slot = 100, landed = null, stale = true where lane = $1', [lane.lane, lane.nonce]);
    expect(await readLanes()).toEqual(clear);
    expect(await stateOf(lane)).toEqual({ nonce: chain.nonceAfter(30_000), stale: false, landed: signature, accepted: false, reason: null });
  }
  expect(chain.requests).toEqual({ history: 0, transaction: 0 });
});

test('a later transaction that the database does not have is found in the history, and the lane is not free before', async () => {
  const lane = await chain.newLane();
  const known = chain.addTransaction(lane, lane.nonce, { at: 500 });
  const forgotten = chain.addTransaction(lane, chain.nonceAfter(500), { at: 600 });
  chain.accounts.set(lane.address, chain.nonceAfter(600));
  await storeAttempt(lane, lane.nonce, known, 'finalized', 500);
  expect(await readLanes()).toEqual(reading);
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, stale: true });
  expect(await readLanes(true)).toEqual(clear);
  expect(await stateOf(lane)).toMatchObject({ nonce: chain.nonceAfter(600), stale: false, landed: forgotten });
  expect(await sql(t.app, 'select signature, verdict from payout_findings where lane = $1', [lane.lane])).toEqual([
    { signature: forgotten, verdict: 'harmless' },
  ]);
});

test('two runs at the same time do not read the same transactions of a history', async () => {
  const lane = await chain.newLane();
  chain.addTransaction(lane, lane.nonce, { at: 150 });
  chain.addStrangers(lane, 600);
  chain.slot = 5_000;
  chain.accounts.set(lane.address, chain.nonceAfter(150));
  for (let runs = 0; runs < 20; runs++) {
    const results = await Promise.all([readLanes(true), readLanes(true)]);
    if (results.every(({ clear }) => clear)) break;
  }
  expect(await stateOf(lane)).toMatchObject({ nonce: chain.nonceAfter(150), stale: false });
  expect(chain.requests.transaction).toBe(601);
});

test('a history of any length is read in parts that survive a restart, and transactions of strangers are not stored', async () => {
  const lane = await chain.newLane();
  chain.addTransaction(lane, lane.nonce, { at: 150 });
  chain.addStrangers(lane, 1_500);
  chain.slot = 5_000;
  chain.accounts.set(lane.address, chain.nonceAfter(150));
  const progress: unknown[] = [];
  let result = await readLanes(true);
  while (!result.clear && progress.length < 20) {
    expect(result).toEqual(reading);
    progress.push(...(await sql(t.app, 'select listed, read from payout_lane_scans where lane = $1', [lane.lane])));
    result = await readLanes(true);
  }
  expect(progress).toEqual(Array.from({ length: 7 }, (_, i) => ({ listed: 200 * (i + 1), read: 200 * (i + 1) })));
  expect(chain.requests).toEqual({ history: 8, transaction: 1_501 });
  expect(await stateOf(lane)).toMatchObject({ nonce: chain.nonceAfter(150), stale: false });
  expect(await sql(t.app, 'select lane from payout_lane_scans where lane = $1', [lane.lane])).toEqual([]);
  expect((await sql(t.app, 'select signature from payout_findings where lane = $1', [lane.lane])).length).toBe(1);
});

test('a transaction of a stranger that imitates a use of the nonce is ignored', async () => {
  const lane = await chain.newLane();
  chain.addTransaction(lane, lane.nonce, { at: 500 });
  for (const at of [400, 700]) chain.addTransaction(lane, randomAddress(), { at, failed: true, signer: randomAddress() });
  chain.histories.get(lane.address)?.toSorted((a, b) => b.slot - a.slot);
  chain.accounts.set(lane.address, chain.nonceAfter(500));
  expect(await readLanes(true)).toEqual(clear);
  expect(await stateOf(lane)).toMatchObject({ nonce: chain.nonceAfter(500), stale: false });
});

test('a lane waits, with the reason, while no RPC node returns its history back to the nonce that the database has', async () => {
  const lane = await chain.newLane();
  const signature = chain.addTransaction(lane, lane.nonce, { at: 500 });
  chain.accounts.set(lane.address, chain.nonceAfter(500));
  const transaction = chain.transactions.get(signature);
  chain.transactions.delete(signature);
  expect(await readLanes(true)).toEqual({ ...reading, stuck: 1 });
  expect((await stateOf(lane))?.reason).toContain(`no RPC node returns the transaction ${signature}, which is listed`);
  if (transaction) chain.transactions.set(signature, transaction);
  const history = chain.histories.get(lane.address) ?? [];
  chain.histories.set(lane.address, history.slice(0, -1));
  expect(await readLanes(true)).toEqual(reading);
  expect(await readLanes(true)).toEqual({ ...reading, stuck: 1 });
  expect((await stateOf(lane))?.reason).toContain('no RPC node lists the transactions of the lane back to slot 100');
  chain.histories.set(lane.address, history);
  expect(await readLanes(true)).toEqual(clear);
});

test('the history explains a nonce also when no RPC node has the blocks any more', async () => {
  const lane = await chain.newLane();
  const signature = chain.addTransaction(lane, lane.nonce, { at: 500 });
  chain.accounts.set(lane.address, chain.nonceAfter(500));
  chain.missingBlocks.add(500);
  await storeAttempt(lane, lane.nonce, signature, 'finalized', 500);
  expect(await readLanes()).toEqual(reading);
  expect(await readLanes(true)).toEqual(clear);
  expect(await stateOf(lane)).toMatchObject({ nonce: chain.nonceAfter(500), landed: signature });
});

test('while the newest transaction of a lane is not listed, the lane waits', async () => {
  const lane = await chain.newLane();
  chain.addTransaction(lane, lane.nonce, { at: 500 });
  chain.accounts.set(lane.address, chain.nonceAfter(600));
  for (let run = 0; run < 3; run++) expect(await readLanes(true)).toEqual(reading);
  chain.addTransaction(lane, chain.nonceAfter(500), { at: 600 });
  await readLanes(true);
  expect(await readLanes(true)).toEqual(clear);
  expect(await stateOf(lane)).toMatchObject({ nonce: chain.nonceAfter(600), stale: false });
});

test('a pending transaction of the lane is waited for, and after the waiting time the history tells what landed instead', async () => {
  const lane = await chain.newLane();
  const pending = randomSignature();
  await storeAttempt(lane, lane.nonce, pending, 'sent');
  const landed = chain.addTransaction(lane, lane.nonce, { at: 500 });
  chain.accounts.set(lane.address, chain.nonceAfter(500));
  expect(await readLanes(true)).toEqual(waiting);
  expect(chain.requests.history).toBe(0);
  await passTime(t.app.config.chain.submission.recheckMs);
  expect(await readLanes(true)).toEqual(clear);
  expect(await stateOf(lane)).toMatchObject({ landed });
  expect(await payoutBatch.nonceUser?.(t.app, { account: lane.address, nonce: lane.nonce })).toBe(landed);
  expect(await payoutBatch.nonceUser?.(t.app, { account: lane.address, nonce: randomAddress() })).toBeNull();
});

test('a lane whose account was opened is free, and uses that the database does not have are found from the opening on', async () => {
  for (const uses of [0, 2]) {
    const lane = await chain.newLane();
    await sql(t.app, 'update payout_lanes set nonce = null, nonce_slot = 0 where lane = $1', [lane.lane]);
    const strangers = chain.histories.get(lane.address) ?? [];
    chain.histories.set(lane.address, [...strangers, historyEntry(randomSignature(), 50)]);
    if (uses > 0) chain.addTransaction(lane, chain.nonceAfter(OPENED_SLOT), { at: 500 });
    if (uses > 1) chain.addTransaction(lane, chain.nonceAfter(500), { at: 600 });
    const value = chain.nonceAfter(uses === 0 ? OPENED_SLOT : 600);
    chain.accounts.set(lane.address, value);
    expect(await readLanes(true)).toEqual(clear);
    expect(await stateOf(lane)).toMatchObject({ nonce: value, stale: false });
  }
});

test('an operator who accepts a lane moves it to the present nonce, and its earlier transactions are not read any more', async () => {
  const lane = await chain.newLane();
  chain.addStrangers(lane, 500);
  chain.addTransaction(lane, randomAddress(), { at: 800, payments: [{ wallet: randomAddress(), amount: 5n }] });
  chain.accounts.set(lane.address, chain.nonceAfter(900));
  await readLanes(true);
  await sql(t.app, `update payout_findings set verdict = 'acknowledged' where lane = $1`, [lane.lane]);
  await resumePayouts(t.app, 'a test', [], [lane.lane]);
  expect(await readLanes()).toEqual(clear);
  expect(await stateOf(lane)).toMatchObject({ nonce: chain.nonceAfter(900), stale: false, accepted: false, reason: null });
  // The next batch needs no history, and neither does a later unknown transaction need the transactions before the acceptance.
  await sql(t.app, 'update payout_lanes set stale = true');
  chain.addTransaction(lane, chain.nonceAfter(900), { at: 1_100 });
  chain.accounts.set(lane.address, chain.nonceAfter(1_100));
  chain.slot = 1_200;
  chain.requests = { history: 0, transaction: 0 };
  expect(await readLanes(true)).toEqual(clear);
  expect(chain.requests).toEqual({ history: 1, transaction: 1 });
});

test('a lane waits while the RPC node is behind the slot of its nonce or of its last transaction', async () => {
  const lane = await chain.newLane();
  chain.accounts.set(lane.address, lane.nonce);
  for (const column of ['nonce_slot', 'landed_slot']) {
    await sql(t.app, `update payout_lanes set nonce_slot = 0, landed_slot = 0`);
    await sql(t.app, `update payout_lanes set ${column} = $1`, [chain.slot + 1]);
    expect(await readLanes()).toEqual(waiting);
    expect(await stateOf(lane)).toMatchObject({ stale: true });
    await sql(t.app, `update payout_lanes set ${column} = $1`, [chain.slot]);
    expect(await reconcileLanes(t.app, 'all', { readsHistory: true })).toEqual(clear);
    await sql(t.app, 'update payout_lanes set stale = true');
  }
});

test('a nonce that no known transaction used is reported after the waiting time', async () => {
  const lane = await chain.newLane();
  chain.accounts.set(lane.address, randomAddress());
  chain.addTransaction(lane, randomAddress());
  expect(await readLanes(true)).toEqual(reading);
  await passTime(t.app.config.chain.submission.recheckMs);
  const problem = `lane ${lane.lane}: the nonce ${lane.nonce} was used by an unknown transaction`;
  expect(await readLanes(true)).toEqual({ ...waiting, problems: [problem] });
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, reason: problem });
});

test('a nonce account that disappeared is reported, and a lane whose account was never read is not', async () => {
  const [lost, unread] = [await chain.newLane(), await chain.newLane()];
  await sql(t.app, 'update payout_lanes set nonce = null where lane = $1', [unread.lane]);
  expect(await readLanes()).toEqual({
    ...waiting,
    problems: [`the nonce account ${lost.address} of lane ${lost.lane} does not exist any more`],
  });
});
