import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type CreatedPayment, type PaymentRequest, paymentId } from '#areas/payouts';
import { getPayouts, postResume } from '#areas/payouts/routes/operations.ts';
import { reconcilePayouts } from '#jobs/payouts.ts';
import { statement } from '#platform/db/sql.ts';
import { startWorker } from '#test/support/app.ts';
import {
  balancesOf,
  createAllPayments,
  eventsOf,
  type PayoutsTest,
  paymentRequest,
  restorePayouts,
  snapshotPayouts,
  startPayoutsTest,
  storedPayments,
  untilPaid,
} from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';

let t: PayoutsTest;
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
beforeAll(async () => {
  t = await startPayoutsTest({ workers: false, env: { PAYOUT_LANES: '3' } });
});
beforeEach(async () => {
  await start();
  // Opens two of the three lanes and waits until both are free.
  await untilPaid(t, await createAllPayments(t, [...onLane(0, 2), ...onLane(1, 2)]));
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

const countBusy = statement<{ n: number }>('test_busy_lanes', 'select count(*)::int as n from payout_lanes where batch is not null or stale');
const countSent = statement<{ n: number }>('test_sent_attempts', `select count(*)::int as n from chain_attempts where state = 'sent'`);
const untilFree = () =>
  retryUntilPass(async () => {
    expect((await t.app.db.query(countBusy))[0]?.n).toBe(0);
  });
const status = async () => (await adminOf(t).ok(getPayouts)).body;
const untilResumed = () => retryUntilPass(async () => expect((await status()).paused).toBeNull());
const reconcileNow = () => t.app.tx(async (tx) => tx.enqueue(reconcilePayouts, {}));

/** Builds requests whose payments are all on one of the three lanes. The cause determines the lane. */
function onLane(lane: number, n: number): PaymentRequest[] {
  const found: PaymentRequest[] = [];
  while (found.length < n) {
    const one = paymentRequest({ amount: BigInt(200 + found.length) });
    if (Number.parseInt(paymentId(one.cause).slice(0, 8), 16) % 3 === lane) found.push(one);
  }
  return found;
}

const requests = (n: number) => [...onLane(0, Math.ceil(n / 2)), ...onLane(1, Math.floor(n / 2))];
async function expectPaidOnce(all: readonly PaymentRequest[], owed: readonly CreatedPayment[]): Promise<void> {
  await untilPaid(t, owed);
  const wallets = all.map(({ wallet }) => wallet);
  expect(await balancesOf(t, wallets)).toEqual(all.map(({ amount }) => amount));
}

test('payments that were made after the backup are found on the chain and not made again', async () => {
  await stop();
  const all = requests(10);
  const owed = await createAllPayments(t, all);
  await snapshotPayouts(t);
  await start();
  const before = await untilPaid(t, owed);
  await stop();
  await restorePayouts(t);
  expect((await storedPayments(t, owed)).map(({ state }) => state)).toEqual(owed.map(() => 'pending'));

  await start();
  await expectPaidOnce(all, owed);
  const after = await storedPayments(t, owed);
  expect(after.map(({ signature }) => signature)).toEqual(before.map(({ signature }) => signature));
  await untilResumed();
  const { findings } = await status();
  expect(
    findings
      .filter(({ verdict }) => verdict === 'matched')
      .flatMap(({ payments }) => payments)
      .sort(),
  ).toEqual(owed.map(({ id }) => id).sort());
  const first = owed[0];
  if (!first) throw new Error('no payment was created');
  expect((await eventsOf(t, first)).map(({ type }) => type)).toContain('payout_confirmed');
  // Payouts resume.
  const next = requests(6);
  await expectPaidOnce(next, await createAllPayments(t, next));
});

test('payments that were created and made after the backup pause payouts until they are created again', async () => {
  await snapshotPayouts(t);
  const all = requests(5);
  const paid = await untilPaid(t, await createAllPayments(t, all));
  await stop();
  await restorePayouts(t);
  expect(
    await storedPayments(
      t,
      paid.map(({ id }) => ({ id, created: true })),
    ),
  ).toEqual([]);

  await start();
  await reconcileNow();
  await retryUntilPass(async () => expect((await status()).paused).toMatch(/it paid \d+ to \w+, but no open payment has this amount and account/));
  // A payment to another wallet waits during the pause.
  const [other] = onLane(0, 1);
  if (!other) throw new Error('no request was built');
  const waiting = await createAllPayments(t, [other]);
  await retryUntilPass(async () => expect((await status()).findings.some(({ verdict }) => verdict === 'unmatched')).toBe(true));
  expect((await storedPayments(t, waiting)).map(({ state }) => state)).toEqual(['pending']);

  const owed = await createAllPayments(t, all);
  await expectPaidOnce(all, owed);
  expect((await storedPayments(t, owed)).map(({ signature }) => signature).sort()).toEqual(paid.map(({ signature }) => signature).sort());
  await untilResumed();
  await expectPaidOnce([other], waiting);
});

test('payouts resume when an operator acknowledges all unmatched transactions', async () => {
  await snapshotPayouts(t);
  await untilPaid(t, await createAllPayments(t, requests(3)));
  await stop();
  await restorePayouts(t);
  await start();
  await reconcileNow();
  await retryUntilPass(async () => expect((await status()).findings.filter(({ verdict }) => verdict === 'unmatched').length).toBeGreaterThan(0));
  const waiting = await createAllPayments(t, onLane(0, 1));
  const admin = adminOf(t);
  const refused = await admin.call(postResume, { body: {} });
  expect([refused.status, refused.body]).toEqual([409, { error: expect.stringContaining('acknowledge must list all unmatched transactions') }]);
  await retryUntilPass(async () => {
    const unmatched = (await status()).findings.filter(({ verdict }) => verdict === 'unmatched').map(({ signature }) => signature);
    if (unmatched.length > 0) await admin.ok(postResume, { body: { acknowledge: unmatched } });
    await reconcileNow();
    expect((await status()).paused).toBeNull();
  });
  await untilPaid(t, waiting);
});

test('a lane that an operator accepts while its batch is in flight continues with the next batches', async () => {
  const first = await createAllPayments(t, onLane(0, 1));
  const busy = statement<{ accepted: boolean }>('test_busy_lane', 'select accepted from payout_lanes where lane = 0 and batch is not null');
  await retryUntilPass(async () => expect(await t.app.db.query(busy)).toEqual([{ accepted: false }]));
  await adminOf(t).ok(postResume, { body: { acceptLanes: [0] } });
  expect(await t.app.db.query(busy)).toEqual([{ accepted: true }]);
  await untilPaid(t, first);
  await untilFree();
  await untilPaid(t, await createAllPayments(t, onLane(0, 1)));
  await untilFree();
  expect((await status()).paused).toBeNull();
});

test('a batch that was in flight at the time of the backup and landed after the restore is paid once', async () => {
  const mint = t.chain.keys.usdcMint.publicKey.toBase58();
  const all = requests(8);
  // The batches are signed after the backup. The cluster has accepted them, but they are in no block when the database is restored.
  const late = await t.chain.control.fault({ kind: 'late', mentions: mint, slots: 1_000 });
  await stop();
  const owed = await createAllPayments(t, all);
  await snapshotPayouts(t);
  await start();
  await untilPaid(t, owed, 'batched');
  await retryUntilPass(async () => expect((await t.app.db.query(countSent))[0]?.n).toBe(2));
  await stop();
  // The cluster drops all later batches.
  await late.clear();
  await t.chain.control.fault({ kind: 'drop', mentions: mint });
  await restorePayouts(t);
  await start();
  // The same payments are signed again with the same nonces, so only one of the two transactions can land.
  await retryUntilPass(async () => expect((await t.chain.control.status()).faults.find(({ kind }) => kind === 'drop')?.hits).toBeGreaterThan(0));
  await t.chain.control.advance(1_000);
  await expectPaidOnce(all, owed);
  await t.chain.control.clear();
  await untilResumed();
});

test('after a restore, a payment that was in flight is never signed on another lane, even when its own lane is full', async () => {
  const [first, second] = (await status()).lanes;
  if (!first || !second) throw new Error('two lanes must exist');
  const [one] = onLane(0, 1);
  if (!one) throw new Error('no request was built');
  await t.chain.control.fault({ kind: 'late', mentions: first.address, slots: 1_000, times: 1 });
  const dropping = await t.chain.control.fault({ kind: 'drop', mentions: first.address });
  await stop();
  const [owed] = await createAllPayments(t, [one]);
  if (!owed) throw new Error('no payment was created');
  await snapshotPayouts(t);
  await start();
  await retryUntilPass(async () => expect((await t.chain.control.status()).faults.find(({ kind }) => kind === 'late')?.hits).toBe(1));
  await stop();
  await restorePayouts(t);
  // Other payments precede it on its lane, and the other lane is free.
  const others = [...onLane(0, 8), ...onLane(1, 1)];
  const waiting = await createAllPayments(t, others);
  await t.app.tx((tx) =>
    tx.query({ text: `update payments set next_at = next_at - interval '1 minute' where id = any($1)` }, [waiting.map(({ id }) => id)]),
  );
  await start();
  await retryUntilPass(async () => expect((await storedPayments(t, waiting)).filter(({ state }) => state === 'batched').length).toBeGreaterThan(5));
  await t.chain.control.finalized((await t.chain.control.status()).slot + 30);
  expect((await storedPayments(t, [owed])).map(({ state }) => state)).toEqual(['pending']);
  await t.chain.control.advance(1_000);
  await expectPaidOnce([one], [owed]);
  await dropping.clear();
  await expectPaidOnce([one, ...others], [owed, ...waiting]);
  await untilResumed();
});

test('a batch that was in flight when the backup was taken is recognized after the restore', async () => {
  const mint = t.chain.keys.usdcMint.publicKey.toBase58();
  const all = requests(6);
  const late = await t.chain.control.fault({ kind: 'late', mentions: mint, slots: 40 });
  const owed = await createAllPayments(t, all);
  await untilPaid(t, owed, 'batched');
  await retryUntilPass(async () => expect(await late.hits()).toBeGreaterThanOrEqual(2));
  await snapshotPayouts(t);
  await untilPaid(t, owed);
  await stop();
  await restorePayouts(t);
  await start();
  await expectPaidOnce(all, owed);
  await untilResumed();
});

test('a lane that was opened after the backup is opened again in the database, and its payments are recognized', async () => {
  await stop();
  const all = onLane(2, 5);
  const owed = await createAllPayments(t, all);
  await snapshotPayouts(t);
  await start();
  await untilPaid(t, owed);
  expect((await status()).lanes.map(({ lane }) => lane)).toEqual([0, 1, 2]);
  await stop();
  await restorePayouts(t);
  expect((await status()).lanes.map(({ lane }) => lane)).toEqual([0, 1]);
  await start();
  await expectPaidOnce(all, owed);
  await untilResumed();
  const next = onLane(2, 2);
  await expectPaidOnce(next, await createAllPayments(t, next));
});

test('a new database timeline pauses payouts until all transactions on the chain are matched', async () => {
  await stop();
  const failing = await t.chain.control.fault({ kind: 'fail' });
  await t.app.tx((tx) => tx.query({ text: `update payout_watch set timeline = timeline + 1` }));
  const owed = await createAllPayments(t, onLane(0, 1));
  await start();
  await retryUntilPass(async () => expect((await status()).paused).toContain('the database was restored or failed over'));
  expect((await storedPayments(t, owed)).map(({ state }) => state)).toEqual(['pending']);
  await failing.clear();
  await untilResumed();
  await untilPaid(t, owed);
});
