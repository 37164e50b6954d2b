import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { CreatedPayment } from '#areas/payouts';
import { reconcilePayouts } from '#jobs/payouts.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  balancesOf,
  createAllPayments,
  type PayoutsTest,
  paymentRequest,
  restorePayouts,
  snapshotPayouts,
  startPayoutsTest,
  storedPayments,
  untilPaid,
} from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';

/** Transactions of strangers on each lane, before and after the payments. One part of a history is 200 transactions. */
const SPAM = 450;

let t: PayoutsTest;
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
beforeAll(async () => {
  t = await startPayoutsTest({ workers: false, env: { PAYOUT_LANES: '2' } });
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

/** Waits until payments are completed. Meanwhile runs the reconciliation, which runs once a minute in production. */
const untilPaidMeanwhile = (owed: readonly CreatedPayment[]) =>
  retryUntilPass(async () => {
    await t.app.tx(async (tx) => tx.enqueue(reconcilePayouts, {}));
    await untilPaid(t, owed, 'completed', 0);
  }, 30_000);

const requests = (n: number) => Array.from({ length: n }, (_, i) => paymentRequest({ amount: BigInt(100 + i) }));

test('payments that a restored database has forgotten are found among many transactions of strangers, also by workers that restart', async () => {
  await start();
  await untilPaid(t, await createAllPayments(t, requests(8)));
  await retryUntilPass(async () => expect(await sql(t.app, 'select lane from payout_lanes where batch is not null or stale')).toEqual([]));
  await stop();
  const all = requests(6);
  const owed = await createAllPayments(t, all);
  await snapshotPayouts(t);
  const lanes = await sql<{ address: string }>(t.app, 'select address from payout_lanes');
  const spam = () =>
    t.chain.control.strangers(
      lanes.map(({ address }) => address),
      SPAM,
    );
  await spam();
  await start();
  const before = await untilPaid(t, owed);
  await spam();
  await stop();
  await restorePayouts(t);
  expect((await storedPayments(t, owed)).map(({ state }) => state)).toEqual(owed.map(() => 'pending'));

  // Each worker reads a part of the history, and the next one continues.
  for (let restarts = 0; restarts < 3; restarts++) {
    await start();
    await t.app.tx(async (tx) => tx.enqueue(reconcilePayouts, {}));
    await sleep(150);
    await stop();
  }
  await start();
  await untilPaidMeanwhile(owed);
  expect((await storedPayments(t, owed)).map(({ signature }) => signature)).toEqual(before.map(({ signature }) => signature));
  const wallets = all.map(({ wallet }) => wallet);
  expect(await balancesOf(t, wallets)).toEqual(all.map(({ amount }) => amount));
  await untilPaidMeanwhile(await createAllPayments(t, requests(3)));
}, 90_000);

/** Transactions of strangers on one lane in the measurement. */
const HEAVY_SPAM = 6_000;

test('after a restore, reading a lane’s history takes one RPC request per transaction of a stranger', async () => {
  await start();
  await untilPaid(t, await createAllPayments(t, requests(8)));
  await retryUntilPass(async () => expect(await sql(t.app, 'select lane from payout_lanes where batch is not null or stale')).toEqual([]));
  await stop();
  const owed = await createAllPayments(t, requests(6));
  await snapshotPayouts(t);
  await start();
  const before = await untilPaid(t, owed);
  await stop();
  const [lane] = await sql<{ address: string }>(t.app, 'select address from payout_lanes order by lane limit 1');
  await t.chain.control.strangers([lane?.address ?? ''], HEAVY_SPAM);
  await restorePayouts(t);
  const reads = await t.chain.control.fault({ kind: 'delay', ms: 0, methods: ['getTransaction'] });
  const lists = await t.chain.control.fault({ kind: 'delay', ms: 0, methods: ['getSignaturesForAddress'] });
  const begin = performance.now();
  await start();
  await retryUntilPass(async () => {
    await t.app.tx(async (tx) => tx.enqueue(reconcilePayouts, {}));
    await sleep(5_000);
    await untilPaid(t, owed, 'completed', 0);
  }, 240_000);
  const [read, listed] = [await reads.hits(), await lists.hits()];
  const took = Math.round((performance.now() - begin) / 1_000);
  process.stdout.write(`${HEAVY_SPAM} transactions of a stranger: ${read} reads, ${listed} lists, ${took} s\n`);
  expect((await storedPayments(t, owed)).map(({ signature }) => signature)).toEqual(before.map(({ signature }) => signature));
  expect(read).toBeLessThanOrEqual(HEAVY_SPAM + 500);
  expect(listed).toBeLessThanOrEqual(HEAVY_SPAM / 50 + 100);
}, 300_000);
