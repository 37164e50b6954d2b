import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { closeEndedPeriods, gameBoard, openDay, readPage } from '#areas/points';
import { bucketOf, dayNumber, type Period, parseDay } from '#lib/periods.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createGame, givePoints, scoreBest, sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp({ workers: false });
  await t.clock.set(new Date('2031-01-01T12:00:00Z'));
});
afterEach(() => t.close());

const at = (text: string) => t.clock.set(new Date(text));
const closed = () =>
  sql<{ period: Period; bucket: number; stored: boolean }>(
    t.app,
    'select period, bucket, finals_at is not null as stored from closed_periods order by period, bucket',
  );
const finals = (board: string, period: Period, day: string) =>
  sql<{ position: number; rank: number; wallet: string; value: string }>(
    t.app,
    'select position, rank, wallet, value from finals where board = $1 and period = $2 and bucket = $3 order by position',
    [board, period, bucketOf(period, parseDay(day))],
  );
/** Creates three addresses in the order of ties on a board: descending. */
const threeWallets = () => [createWallet().address, createWallet().address, createWallet().address].sort().reverse() as [string, string, string];

test('a day closes once, a minute after its end, with its final ranks', async () => {
  const [a, b, c] = threeWallets();
  await givePoints(t.app, { wallet: a, points: 5 });
  await givePoints(t.app, { wallet: b, points: 5 });
  await givePoints(t.app, { wallet: c, points: 2, kind: 'quest' });
  await givePoints(t.app, { wallet: c, points: 90, mode: 'beta' });
  await givePoints(t.app, { wallet: c, points: 90, kind: 'conversion' });
  await at('2031-01-02T00:00:30Z');
  await closeEndedPeriods(t.app);
  expect(await closed()).toEqual([]);
  await givePoints(t.app, { wallet: a, points: 50 });
  await at('2031-01-02T00:01:01Z');
  await Promise.all([closeEndedPeriods(t.app), closeEndedPeriods(t.app)]);
  await closeEndedPeriods(t.app);
  expect(await closed()).toEqual([{ period: 'day', bucket: parseDay('2031-01-01'), stored: true }]);
  const ranks = [
    { position: 1, rank: 1, wallet: a, value: '5' },
    { position: 2, rank: 1, wallet: b, value: '5' },
    { position: 3, rank: 3, wallet: c, value: '2' },
  ];
  expect(await finals('global', 'day', '2031-01-01')).toEqual(ranks);
  expect(await finals('quests', 'day', '2031-01-01')).toEqual([{ position: 1, rank: 1, wallet: c, value: '2' }]);
  await closeEndedPeriods(t.app);
  expect(await finals('global', 'day', '2031-01-01')).toEqual(ranks);
});

test('caches keep stored finals and their stats for five minutes, because names of wallets and bans change', async () => {
  const [a, b] = threeWallets();
  await givePoints(t.app, { wallet: a, points: 5 });
  await givePoints(t.app, { wallet: b, points: 4 });
  await at('2031-01-02T00:00:30Z');
  const url = `${t.url}/leaderboard/global?period=day&at=2031-01-01`;
  const before = await fetch(url);
  expect(before.headers.get('Cache-Control')).toBe('no-cache');
  await at('2031-01-02T00:02:00Z');
  await closeEndedPeriods(t.app);
  const after = await fetch(url);
  expect(after.headers.get('Cache-Control')).toBe('public, max-age=300');
  expect(await after.json()).toEqual(await before.json());
  const stats = await fetch(`${t.url}/leaderboard/global/period-stats?period=day&at=2031-01-01`);
  // A ban can take a wallet off the final boards.
  expect(stats.headers.get('Cache-Control')).toBe('public, max-age=300');
  expect(await stats.json()).toMatchObject({ from: '2031-01-01', to: '2031-01-01', participants: 2, points: 9, topScore: 5, averageScore: 4.5 });
});

test('a day stays open while a transaction of that day is uncommitted', async () => {
  const { address } = createWallet();
  await givePoints(t.app, { wallet: address, points: 1 });
  await t.clock.set(new Date('2031-01-01T23:59:59Z'));
  const opened = Promise.withResolvers<number>();
  const mayCommit = Promise.withResolvers<void>();
  const writer = t.app.tx(async (tx) => {
    const { day } = await openDay(tx);
    opened.resolve(day);
    await mayCommit.promise;
  });
  expect(await opened.promise).toBe(parseDay('2031-01-01'));
  await at('2031-01-02T00:05:00Z');
  await closeEndedPeriods(t.app);
  expect(await closed()).toEqual([]);
  mayCommit.resolve();
  await writer;
  await closeEndedPeriods(t.app);
  expect(await closed()).toHaveLength(1);
});

test('after days without a run, every ended period gets its final ranks', async () => {
  await createGame(t.app, 'alpha-run');
  const [a, b] = threeWallets();
  for (const [day, points, value] of [
    ['2031-01-01', 1, 7],
    ['2031-01-02', 2, 3],
    ['2031-01-04', 4, 9],
    ['2031-02-01', 8, 1],
  ] as const) {
    await at(`${day}T12:00:00Z`);
    await givePoints(t.app, { wallet: a, points });
    await givePoints(t.app, { wallet: a, points, kind: 'quest' });
    await givePoints(t.app, { wallet: a, points: 100, kind: 'conversion' });
    await scoreBest(t.app, { wallet: a, gameId: 'alpha-run', value });
  }
  await givePoints(t.app, { wallet: b, points: 3 });
  await at('2031-02-01T12:00:02Z');
  const past = await readPage(t.app, 'global', { span: 'day', at: parseDay('2031-01-01'), limit: 10, offset: 0 });
  expect(past).toEqual({ entries: [{ rank: 1, wallet: a, score: 2 }], total: 1, final: false });
  for (let i = 0; i < 4; i++) await closeEndedPeriods(t.app);
  const all = await closed();
  expect(all.filter((row) => !row.stored)).toEqual([]);
  expect(all.filter((row) => row.period === 'day')).toHaveLength(31);
  const only = (value: number) => [{ position: 1, rank: 1, wallet: a, value: String(value) }];
  const game = gameBoard('alpha-run');
  for (const [period, day, points, value] of [
    ['day', '2031-01-01', 1, 7],
    ['day', '2031-01-02', 2, 3],
    ['day', '2031-01-04', 4, 9],
    ['week', '2031-01-01', 7, 9],
    ['month', '2031-01-01', 7, 9],
  ] as const) {
    expect(await finals('global', period, day)).toEqual(only(2 * points));
    expect(await finals('quests', period, day)).toEqual(only(points));
    expect(await finals(game, period, day)).toEqual(only(value));
  }
  expect(await finals('global', 'day', '2031-01-03')).toEqual([]);
  expect(await readPage(t.app, 'global', { span: 'day', at: parseDay('2031-01-03'), limit: 10, offset: 0 })).toEqual({
    entries: [],
    total: 0,
    final: true,
  });
});

test('after a kill between two boards, the next run stores the remaining finals', async () => {
  const { address } = createWallet();
  await givePoints(t.app, { wallet: address, points: 5, kind: 'quest' });
  const day = dayNumber(t.clock.now());
  await at('2031-01-02T00:05:00Z');
  await sql(t.app, `insert into closed_periods (period, bucket) values ('day', $1)`, [day]);
  await sql(t.app, `insert into finals (board, period, bucket, position, rank, wallet, value) values ('global', 'day', $1, 1, 1, $2, 5)`, [
    day,
    address,
  ]);
  await closeEndedPeriods(t.app);
  expect(await closed()).toEqual([{ period: 'day', bucket: day, stored: true }]);
  expect(await finals('global', 'day', '2031-01-01')).toHaveLength(1);
  expect(await finals('quests', 'day', '2031-01-01')).toHaveLength(1);
});
