import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeEndedPeriods } from '#areas/points';
import { computeEpoch, sweepEpochs } from '#areas/rewards';
import { EpochView } from '#areas/rewards/schemas.ts';
import { dayStart } from '#lib/periods.ts';
import { startWorker, type TestApp } from '#test/support/app.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import {
  closeDays,
  DAY,
  epochOf,
  insertClosedDay,
  insertPastPoints,
  leavesOf,
  randomWallet,
  setRules,
  startRewards,
  statusAndBody,
  trigger,
} from '#test/support/areas/epochs.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startRewards();
  await setRules(t);
});
afterAll(() => t.close());

const DAY_MS = 86_400_000;
const today = () => Math.floor(t.clock.now().getTime() / DAY_MS);
const eventsOf = (epoch: number) =>
  sql<{ n: number }>(t.app, `select count(*)::int as n from outbox where type = 'epoch_computed' and payload->>'epoch' = $1`, [String(epoch)]);
const leafCount = (epoch: number) => sql<{ n: number }>(t.app, 'select count(*)::int as n from reward_leaves where epoch = $1', [epoch]);
const wallets = (count: number) => Array.from({ length: count }, (_, i) => ({ wallet: randomWallet(), points: i + 1 }));

test('a triggered epoch of an ended day is computed after the day is closed, with all its points', async () => {
  const wallet = randomWallet();
  await t.clock.set(new Date(dayStart(today()).getTime() + DAY_MS - 1_000));
  const day = await givePoints(t.app, { wallet, points: 10 });
  await t.clock.set(new Date(dayStart(day + 1).getTime() + 30_000));
  const early = await trigger(t);
  expect([early.status, early.headers.get('Location')]).toEqual([202, `/api/rewards/epoch/${day}`]);
  expect(EpochView.parse(await early.json())).toMatchObject({ epoch: day, status: 'computing', root: null });
  expect(await leafCount(day)).toEqual([{ n: 0 }]);

  await t.clock.set(new Date(dayStart(day + 1).getTime() + 90_000));
  await closeEndedPeriods(t.app);
  const late = await trigger(t, day);
  expect([late.status, await late.json()]).toMatchObject([200, { status: 'computed', leaves: 1, points: 10 }]);
  await t.clock.set(new Date());
});

test('eight concurrent triggers compute the epoch of the latest ended day once', async () => {
  const yesterday = today() - 1;
  await insertClosedDay(t.app, yesterday, wallets(40));
  const all = await Promise.all(Array.from({ length: 8 }, () => trigger(t)));
  const statuses = all.map(({ status }) => status).sort();
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
  for (const response of all) expect(await response.json()).toMatchObject({ epoch: yesterday, status: 'computed', leaves: 40, total: '1000000' });
  expect(await eventsOf(yesterday)).toEqual([{ n: 1 }]);
});

test('a trigger returns an existing epoch unchanged after the rules have changed', async () => {
  const before = await epochOf(t, today() - 1);
  await setRules(t, { pool: '77' });
  expect(await statusAndBody(trigger(t, today() - 1))).toEqual([200, before]);
  await setRules(t);
});

test('a trigger for a day that has not ended is refused', async () => {
  for (const epoch of [today(), today() + 1, 2 ** 31 - 1]) {
    expect(await statusAndBody(trigger(t, epoch))).toEqual([400, { error: 'epoch must be a day that has ended' }]);
  }
  expect((await statusAndBody(trigger(t, -1)))[0]).toBe(400);
  expect((await statusAndBody(trigger(t, 2 ** 31)))[0]).toBe(400);
});

test('a trigger repeated with its Idempotency-Key returns the same response, and another request with the same key is refused', async () => {
  await insertClosedDay(t.app, DAY, wallets(3));
  const first = await trigger(t, DAY, { 'Idempotency-Key': 'once' });
  const again = await trigger(t, DAY, { 'Idempotency-Key': 'once' });
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(await again.json()).toEqual(await first.json());
  expect((await trigger(t, DAY + 1, { 'Idempotency-Key': 'once' })).status).toBe(409);
});

test('the epoch of a day without any points is empty, although the day has no closing row', async () => {
  const response = await trigger(t, 3);
  expect([response.status, await response.json()]).toMatchObject([201, { epoch: 3, status: 'empty' }]);
});

test('the epoch of a day that is not closed is not computed', async () => {
  await insertPastPoints(t.app, DAY - 10, wallets(2));
  expect((await trigger(t, DAY - 10)).status).toBe(202);
  await computeEpoch(t.app, DAY - 10);
  expect(await epochOf(t, DAY - 10)).toMatchObject({ status: 'computing' });
  await closeDays(t.app, DAY - 10);
  await computeEpoch(t.app, DAY - 10);
  expect(await epochOf(t, DAY - 10)).toMatchObject({ status: 'computed', leaves: 2 });
});

test('six concurrent computations of an epoch compute it once', async () => {
  await insertClosedDay(t.app, DAY + 60, wallets(5_000));
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 999, 0, 90, 1, 1)`, [
    DAY + 60,
  ]);
  await Promise.all(Array.from({ length: 6 }, () => computeEpoch(t.app, DAY + 60)));
  expect(await epochOf(t, DAY + 60)).toMatchObject({ status: 'computed', wallets: 5_000, leaves: 999, total: '999' });
  expect(await leafCount(DAY + 60)).toEqual([{ n: 5_000 }]);
  expect(await eventsOf(DAY + 60)).toEqual([{ n: 1 }]);
});

test('the sweep creates epochs of closed days, oldest first and at most ten per run, and enqueues unfinished epochs again', async () => {
  const quiet = await startRewards('scores');
  try {
    await setRules(quiet);
    const days = Array.from({ length: 13 }, (_, i) => DAY + i);
    for (const day of days.toReversed()) await insertClosedDay(quiet.app, day, wallets(2));
    const states = async () => await sql<{ epoch: number; state: string }>(quiet.app, 'select epoch, state from epochs order by epoch');
    await sweepEpochs(quiet.app);
    expect(await states()).toEqual(days.slice(0, 10).map((epoch) => ({ epoch, state: 'computing' })));
    await sweepEpochs(quiet.app);
    expect(await states()).toEqual(days.map((epoch) => ({ epoch, state: 'computing' })));
    // Deletes all jobs, so that the new worker depends on the rows in the database.
    for (const queue of quiet.app.queues.all.values()) await queue.obliterate({ force: true });
    const worker = await startWorker({ ...quiet.env, QUEUES: 'epochs' }, quiet.clock);
    try {
      const isDone = async () => (await states()).every(({ state }) => state === 'computed');
      const deadline = performance.now() + PATIENCE * 10_000;
      while (!(await isDone()) && performance.now() < deadline) {
        await sweepEpochs(quiet.app);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(await isDone()).toBe(true);
    } finally {
      await worker.close();
    }
  } finally {
    await quiet.close();
  }
});

test('when the rules are not automatic, closed days wait for a trigger', async () => {
  await setRules(t, { automatic: false });
  await insertClosedDay(t.app, DAY + 70, wallets(2));
  await sweepEpochs(t.app);
  expect((await send(t, `/api/rewards/epoch/${DAY + 70}`)).status).toBe(404);
  expect((await trigger(t, DAY + 70)).status).toBe(201);
  await setRules(t);
});

test('an epoch keeps the rules that were in force when it was created', async () => {
  await setRules(t, { pool: '500', expiryDays: 30 });
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 42, 0, 7, 1, 1)`, [
    DAY + 80,
  ]);
  await insertClosedDay(t.app, DAY + 80, wallets(2));
  expect(await statusAndBody(trigger(t, DAY + 80))).toMatchObject([200, { pool: '42', expiryDays: 7, rulesVersion: 1, total: '42' }]);
  await insertClosedDay(t.app, DAY + 81, wallets(2));
  expect(await statusAndBody(trigger(t, DAY + 81))).toMatchObject([201, { pool: '500', expiryDays: 30, total: '500' }]);
  await setRules(t);
});

test('an epoch of 20,000 wallets is computed in a worker thread with correct points and total', async () => {
  const given = wallets(20_000);
  await insertClosedDay(t.app, DAY + 90, given);
  expect((await trigger(t, DAY + 90)).status).toBe(201);
  const { header, lines } = await leavesOf(t, DAY + 90);
  expect(header).toMatchObject({ wallets: 20_000, total: '1000000' });
  expect(lines.length).toBe(20_000);
  const points = new Map(given.map((g) => [g.wallet, g.points]));
  expect(lines.every((line) => line.points === points.get(line.wallet))).toBe(true);
  expect(lines.reduce((sum, line) => sum + BigInt(line.amount), 0n)).toBe(1_000_000n);
});
