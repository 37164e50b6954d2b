import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeEnded } from '#areas/points';
import { computeEpoch, sweepEpochs } from '#areas/rewards';
import { EpochView } from '#areas/rewards/schemas.ts';
import { dayStart } from '#lib/periods.ts';
import { startWorker, type TestApp } from '#test/support/app.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import {
  answered,
  anyWallet,
  closeDays,
  closedDay,
  DAY,
  epochOf,
  givePast,
  leavesOf,
  setRules,
  startRewards,
  trigger,
} from '#test/support/areas/epochs.ts';
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
const some = (count: number) => Array.from({ length: count }, (_, i) => ({ wallet: anyWallet(), points: i + 1 }));

test('a day that has ended and is not closed yet is computed once it is, with all of its points', async () => {
  const wallet = anyWallet();
  await t.clock.set(new Date(dayStart(today()).getTime() + DAY_MS - 1_000));
  const day = await givePoints(t.app, { wallet, points: 10 });
  await t.clock.set(new Date(dayStart(day + 1).getTime() + 30_000));
  const early = await trigger(t);
  expect([early.status, early.headers.get('Location')]).toEqual([202, `/api/rewards/epoch/${day}`]);
  expect(EpochView.parse(await early.json())).toMatchObject({ epoch: day, status: 'computing', root: null });
  expect(await leafCount(day)).toEqual([{ n: 0 }]);

  await t.clock.set(new Date(dayStart(day + 1).getTime() + 90_000));
  await closeEnded(t.app);
  const late = await trigger(t, day);
  expect([late.status, await late.json()]).toMatchObject([200, { status: 'computed', leaves: 1, points: 10 }]);
  await t.clock.set(new Date());
});

test('the last day that has ended is computed, once, whoever asks', async () => {
  const yesterday = today() - 1;
  await closedDay(t.app, yesterday, some(40));
  const all = await Promise.all(Array.from({ length: 8 }, () => trigger(t)));
  const statuses = all.map(({ status }) => status).sort();
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
  for (const response of all) expect(await response.json()).toMatchObject({ epoch: yesterday, status: 'computed', leaves: 40, total: '1000000' });
  expect(await eventsOf(yesterday)).toEqual([{ n: 1 }]);
});

test('an epoch that is there is answered as it is, also when the rules have changed since', async () => {
  const before = await epochOf(t, today() - 1);
  await setRules(t, { pool: '77' });
  expect(await answered(trigger(t, today() - 1))).toEqual([200, before]);
  await setRules(t);
});

test('a day that has not ended is refused', async () => {
  for (const epoch of [today(), today() + 1, 2 ** 31 - 1]) {
    expect(await answered(trigger(t, epoch))).toEqual([400, { error: 'epoch must be a day that has ended' }]);
  }
  expect((await answered(trigger(t, -1)))[0]).toBe(400);
  expect((await answered(trigger(t, 2 ** 31)))[0]).toBe(400);
});

test('a request with an Idempotency-Key is answered the same again, and another one under the same key is refused', async () => {
  await closedDay(t.app, DAY, some(3));
  const first = await trigger(t, DAY, { 'Idempotency-Key': 'once' });
  const again = await trigger(t, DAY, { 'Idempotency-Key': 'once' });
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(await again.json()).toEqual(await first.json());
  expect((await trigger(t, DAY + 1, { 'Idempotency-Key': 'once' })).status).toBe(409);
});

test('a day before anything was recorded is empty, though nobody ever closed it', async () => {
  const response = await trigger(t, 3);
  expect([response.status, await response.json()]).toMatchObject([201, { epoch: 3, status: 'empty' }]);
});

test('points of a day that is not closed are never computed', async () => {
  await givePast(t.app, DAY - 10, some(2));
  expect((await trigger(t, DAY - 10)).status).toBe(202);
  await computeEpoch(t.app, DAY - 10);
  expect(await epochOf(t, DAY - 10)).toMatchObject({ status: 'computing' });
  await closeDays(t.app, DAY - 10);
  await computeEpoch(t.app, DAY - 10);
  expect(await epochOf(t, DAY - 10)).toMatchObject({ status: 'computed', leaves: 2 });
});

test('many workers that compute the same epoch at once compute it once', async () => {
  await closedDay(t.app, DAY + 60, some(5_000));
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 999, 0, 90, 1, 1)`, [
    DAY + 60,
  ]);
  await Promise.all(Array.from({ length: 6 }, () => computeEpoch(t.app, DAY + 60)));
  expect(await epochOf(t, DAY + 60)).toMatchObject({ status: 'computed', wallets: 5_000, leaves: 999, total: '999' });
  expect(await leafCount(DAY + 60)).toEqual([{ n: 5_000 }]);
  expect(await eventsOf(DAY + 60)).toEqual([{ n: 1 }]);
});

test('days that were closed while nothing ran are begun oldest first, a few at a time, and those left lying are taken up', async () => {
  const quiet = await startRewards('scores');
  try {
    await setRules(quiet);
    const days = Array.from({ length: 13 }, (_, i) => DAY + i);
    for (const day of days.toReversed()) await closedDay(quiet.app, day, some(2));
    const states = async () => await sql<{ epoch: number; state: string }>(quiet.app, 'select epoch, state from epochs order by epoch');
    await sweepEpochs(quiet.app);
    expect(await states()).toEqual(days.slice(0, 10).map((epoch) => ({ epoch, state: 'computing' })));
    await sweepEpochs(quiet.app);
    expect(await states()).toEqual(days.map((epoch) => ({ epoch, state: 'computing' })));
    // Bells that nobody heard: a worker that starts now has only the record to go by.
    for (const queue of quiet.app.queues.all.values()) await queue.obliterate({ force: true });
    const worker = await startWorker({ ...quiet.env, QUEUES: 'epochs' }, quiet.clock);
    try {
      const isDone = async () => (await states()).every(({ state }) => state === 'computed');
      const deadline = performance.now() + 10_000;
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

test('with automatic computing off, closed days wait for a trigger', async () => {
  await setRules(t, { automatic: false });
  await closedDay(t.app, DAY + 70, some(2));
  await sweepEpochs(t.app);
  expect((await send(t, `/api/rewards/epoch/${DAY + 70}`)).status).toBe(404);
  expect((await trigger(t, DAY + 70)).status).toBe(201);
  await setRules(t);
});

test('an epoch keeps the rules that it was begun under', async () => {
  await setRules(t, { pool: '500', expiryDays: 30 });
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 42, 0, 7, 1, 1)`, [
    DAY + 80,
  ]);
  await closedDay(t.app, DAY + 80, some(2));
  expect(await answered(trigger(t, DAY + 80))).toMatchObject([200, { pool: '42', expiryDays: 7, rulesVersion: 1, total: '42' }]);
  await closedDay(t.app, DAY + 81, some(2));
  expect(await answered(trigger(t, DAY + 81))).toMatchObject([201, { pool: '500', expiryDays: 30, total: '500' }]);
  await setRules(t);
});

test('more wallets than a thread takes to pay off are computed in one, and come out the same', async () => {
  const given = some(20_000);
  await closedDay(t.app, DAY + 90, given);
  expect((await trigger(t, DAY + 90)).status).toBe(201);
  const { header, lines } = await leavesOf(t, DAY + 90);
  expect(header).toMatchObject({ wallets: 20_000, total: '1000000' });
  expect(lines.length).toBe(20_000);
  const points = new Map(given.map((g) => [g.wallet, g.points]));
  expect(lines.every((line) => line.points === points.get(line.wallet))).toBe(true);
  expect(lines.reduce((sum, line) => sum + BigInt(line.amount), 0n)).toBe(1_000_000n);
});
