import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Debt, type Owed, paymentId } from '#areas/payouts';
import { getPayouts, postResume } from '#areas/payouts/routes/operations.ts';
import { reconcilePayouts } from '#jobs/payouts.ts';
import { statement } from '#platform/db/sql.ts';
import { startWorker } from '#test/support/app.ts';
import { balancesOf, debt, eventsOf, oweAll, type PayoutsTest, startPayoutsTest, storedPayments, untilPaid } from '#test/support/areas/payouts.ts';
import { eventually } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';

let t: PayoutsTest;
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
beforeAll(async () => {
  t = await startPayoutsTest({ workers: false, env: { PAYOUT_LANES: '3' } });
});
beforeEach(async () => {
  await start();
  // Two of three lanes are open and free.
  await untilPaid(t, await oweAll(t, [...onLane(0, 2), ...onLane(1, 2)]));
  await untilFree();
});
afterEach(async () => {
  await stop();
  await t.chain.control.clear();
});
afterAll(() => t.close());

async function start(): Promise<void> {
  worker = await startWorker({ ...t.env }, t.clock);
}
async function stop(): Promise<void> {
  await worker?.close();
  worker = undefined;
}

const TABLES = [
  'payments',
  'payout_lanes',
  'payout_batches',
  'payout_batch_members',
  'payout_findings',
  'payout_watch',
  'chain_transactions',
  'chain_attempts',
  'chain_outflows',
  'chain_pauses',
  'token_accounts_opened',
];

/** Copies the record of payouts aside. */
async function snapshot(): Promise<void> {
  await t.app.tx(async (tx) => {
    await tx.query({ text: 'drop schema if exists snapshot cascade; create schema snapshot' });
    for (const table of TABLES) await tx.query({ text: `create table snapshot.${table} as table public.${table}` });
  });
}

/** Puts the record back as it was, as a restored backup would. Nothing may be running. */
async function restore(): Promise<void> {
  await t.app.tx(async (tx) => {
    await tx.query({ text: 'set local session_replication_role = replica' });
    for (const table of TABLES) await tx.query({ text: `delete from public.${table}` });
    for (const table of TABLES) await tx.query({ text: `insert into public.${table} select * from snapshot.${table}` });
  });
  // Redis went with it.
  for (const queue of t.app.queues.all.values()) await queue.obliterate({ force: true });
}

const countBusy = statement<{ n: number }>('test_busy_lanes', 'select count(*)::int as n from payout_lanes where batch is not null or stale');
const countSent = statement<{ n: number }>('test_sent_attempts', `select count(*)::int as n from chain_attempts where state = 'sent'`);
const untilFree = () =>
  eventually(async () => {
    expect((await t.app.db.query(countBusy))[0]?.n).toBe(0);
  });
const status = async () => (await adminOf(t).ok(getPayouts)).body;
const untilGoingOn = () => eventually(async () => expect((await status()).paused).toBeNull());
const look = () => t.app.tx(async (tx) => tx.enqueue(reconcilePayouts, {}));

/** Debts that are all on one of the three lanes: which, follows from their cause. */
function onLane(lane: number, n: number): Debt[] {
  const found: Debt[] = [];
  while (found.length < n) {
    const one = debt({ amount: BigInt(200 + found.length) });
    if (Number.parseInt(paymentId(one.cause).slice(0, 8), 16) % 3 === lane) found.push(one);
  }
  return found;
}

const debts = (n: number) => [...onLane(0, Math.ceil(n / 2)), ...onLane(1, Math.floor(n / 2))];
async function expectPaidOnce(all: readonly Debt[], owed: readonly Owed[]): Promise<void> {
  await untilPaid(t, owed);
  const wallets = all.map(({ wallet }) => wallet);
  expect(await balancesOf(t, wallets)).toEqual(all.map(({ amount }) => amount));
}

test('what was paid after the backup is found on the chain, and not paid again', async () => {
  await stop();
  const all = debts(10);
  const owed = await oweAll(t, all);
  await snapshot();
  await start();
  const before = await untilPaid(t, owed);
  await stop();
  await restore();
  expect((await storedPayments(t, owed)).map(({ state }) => state)).toEqual(owed.map(() => 'pending'));

  await start();
  await expectPaidOnce(all, owed);
  const after = await storedPayments(t, owed);
  expect(after.map(({ signature }) => signature)).toEqual(before.map(({ signature }) => signature));
  await untilGoingOn();
  const { findings } = await status();
  expect(
    findings
      .filter(({ verdict }) => verdict === 'matched')
      .flatMap(({ payments }) => payments)
      .sort(),
  ).toEqual(owed.map(({ id }) => id).sort());
  const first = owed[0];
  if (!first) throw new Error('nothing is owed');
  expect((await eventsOf(t, first)).map(({ type }) => type)).toContain('payout_confirmed');
  // And payouts go on.
  const next = debts(6);
  await expectPaidOnce(next, await oweAll(t, next));
});

test('what was owed and paid after the backup stops payouts until it is owed again', async () => {
  await snapshot();
  const all = debts(5);
  const paid = await untilPaid(t, await oweAll(t, all));
  await stop();
  await restore();
  expect(
    await storedPayments(
      t,
      paid.map(({ id }) => ({ id, created: true })),
    ),
  ).toEqual([]);

  await start();
  await look();
  await eventually(async () => expect((await status()).paused).toMatch(/nobody is owed the \d+ that it paid to/));
  // Somebody else, who is owed meanwhile, waits.
  const [other] = onLane(0, 1);
  if (!other) throw new Error('no debt');
  const waiting = await oweAll(t, [other]);
  await eventually(async () => expect((await status()).findings.some(({ verdict }) => verdict === 'unmatched')).toBe(true));
  expect((await storedPayments(t, waiting)).map(({ state }) => state)).toEqual(['pending']);

  const owed = await oweAll(t, all);
  await expectPaidOnce(all, owed);
  expect((await storedPayments(t, owed)).map(({ signature }) => signature).sort()).toEqual(paid.map(({ signature }) => signature).sort());
  await untilGoingOn();
  await expectPaidOnce([other], waiting);
});

test('what a person acknowledges stops payouts no longer, but only all of it', async () => {
  await snapshot();
  await untilPaid(t, await oweAll(t, debts(3)));
  await stop();
  await restore();
  await start();
  await look();
  await eventually(async () => expect((await status()).findings.filter(({ verdict }) => verdict === 'unmatched').length).toBeGreaterThan(0));
  const waiting = await oweAll(t, onLane(0, 1));
  const admin = adminOf(t);
  const refused = await admin.call(postResume, { body: {} });
  expect([refused.status, refused.body]).toEqual([
    409,
    { error: expect.stringContaining('acknowledge must be the transactions that are unmatched now') },
  ]);
  await eventually(async () => {
    const unmatched = (await status()).findings.filter(({ verdict }) => verdict === 'unmatched').map(({ signature }) => signature);
    if (unmatched.length > 0) await admin.ok(postResume, { body: { acknowledge: unmatched } });
    await look();
    expect((await status()).paused).toBeNull();
  });
  await untilPaid(t, waiting);
});

test('a lane that a person vouches for while a batch is on its way goes on with the batches after it', async () => {
  const first = await oweAll(t, onLane(0, 1));
  const busy = statement<{ accepted: boolean }>('test_busy_lane', 'select accepted from payout_lanes where lane = 0 and batch is not null');
  await eventually(async () => expect(await t.app.db.query(busy)).toEqual([{ accepted: false }]));
  await adminOf(t).ok(postResume, { body: { acceptLanes: [0] } });
  expect(await t.app.db.query(busy)).toEqual([{ accepted: true }]);
  await untilPaid(t, first);
  await untilFree();
  await untilPaid(t, await oweAll(t, onLane(0, 1)));
  await untilFree();
  expect((await status()).paused).toBeNull();
});

test('what was on its way at the time of the backup, and landed later, is paid once', async () => {
  const mint = t.chain.keys.usdcMint.publicKey.toBase58();
  const all = debts(8);
  // Signed after the backup and taken in by the cluster, but not in a block yet when the database is restored.
  const late = await t.chain.control.fault({ kind: 'late', mentions: mint, slots: 1_000 });
  await stop();
  const owed = await oweAll(t, all);
  await snapshot();
  await start();
  await untilPaid(t, owed, 'batched');
  await eventually(async () => expect((await t.app.db.query(countSent))[0]?.n).toBe(2));
  await stop();
  // What is sent from now on is lost.
  await late.clear();
  await t.chain.control.fault({ kind: 'drop', mentions: mint });
  await restore();
  await start();
  // The same debts are signed for anew, with the same nonces: of the two, one lands.
  await eventually(async () => expect((await t.chain.control.status()).faults.find(({ kind }) => kind === 'drop')?.hits).toBeGreaterThan(0));
  await t.chain.control.advance(1_000);
  await expectPaidOnce(all, owed);
  await t.chain.control.clear();
  await untilGoingOn();
});

test('what was on its way before the restoring is never signed for on another lane, however full its own is', async () => {
  const [first, second] = (await status()).lanes;
  if (!first || !second) throw new Error('there are no lanes');
  const [one] = onLane(0, 1);
  if (!one) throw new Error('no debt');
  await t.chain.control.fault({ kind: 'late', mentions: first.address, slots: 1_000, times: 1 });
  const dropping = await t.chain.control.fault({ kind: 'drop', mentions: first.address });
  await stop();
  const [owed] = await oweAll(t, [one]);
  if (!owed) throw new Error('nothing is owed');
  await snapshot();
  await start();
  await eventually(async () => expect((await t.chain.control.status()).faults.find(({ kind }) => kind === 'late')?.hits).toBe(1));
  await stop();
  await restore();
  // Others come before it on its lane, and the other lane is free.
  const others = [...onLane(0, 8), ...onLane(1, 1)];
  const waiting = await oweAll(t, others);
  await t.app.tx((tx) =>
    tx.query({ text: `update payments set next_at = next_at - interval '1 minute' where id = any($1)` }, [waiting.map(({ id }) => id)]),
  );
  await start();
  await eventually(async () => expect((await storedPayments(t, waiting)).filter(({ state }) => state === 'batched').length).toBeGreaterThan(5));
  await t.chain.control.finalized((await t.chain.control.status()).slot + 30);
  expect((await storedPayments(t, [owed])).map(({ state }) => state)).toEqual(['pending']);
  await t.chain.control.advance(1_000);
  await expectPaidOnce([one], [owed]);
  await dropping.clear();
  await expectPaidOnce([one, ...others], [owed, ...waiting]);
  await untilGoingOn();
});

test('a backup taken while a batch was on its way knows it again', async () => {
  const mint = t.chain.keys.usdcMint.publicKey.toBase58();
  const all = debts(6);
  const late = await t.chain.control.fault({ kind: 'late', mentions: mint, slots: 40 });
  const owed = await oweAll(t, all);
  await untilPaid(t, owed, 'batched');
  await eventually(async () => expect(await late.hits()).toBeGreaterThanOrEqual(2));
  await snapshot();
  await untilPaid(t, owed);
  await stop();
  await restore();
  await start();
  await expectPaidOnce(all, owed);
  await untilGoingOn();
});

test('a lane that is younger than the backup is known again by what it has paid', async () => {
  await stop();
  const all = onLane(2, 5);
  const owed = await oweAll(t, all);
  await snapshot();
  await start();
  await untilPaid(t, owed);
  expect((await status()).lanes.map(({ lane }) => lane)).toEqual([0, 1, 2]);
  await stop();
  await restore();
  expect((await status()).lanes.map(({ lane }) => lane)).toEqual([0, 1]);
  await start();
  await expectPaidOnce(all, owed);
  await untilGoingOn();
  const next = onLane(2, 2);
  await expectPaidOnce(next, await oweAll(t, next));
});

test('another database system stops payouts until the chain is matched', async () => {
  await stop();
  const failing = await t.chain.control.fault({ kind: 'fail' });
  await t.app.tx((tx) => tx.query({ text: `update payout_watch set timeline = timeline + 1` }));
  const owed = await oweAll(t, onLane(0, 1));
  await start();
  await eventually(async () => expect((await status()).paused).toContain('the database was restored or failed over'));
  expect((await storedPayments(t, owed)).map(({ state }) => state)).toEqual(['pending']);
  await failing.clear();
  await untilGoingOn();
  await untilPaid(t, owed);
});
