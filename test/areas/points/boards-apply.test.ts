import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  appendPoints,
  applyToBoard,
  boardKeys,
  gameBoard,
  type LedgerEntry,
  openDay,
  rankChanges,
  readPage,
  readPlaces,
  readRank,
  readSummary,
  rebuildBoard,
} from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { givePoints, scoreBest } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const DAY_MS = 86_400_000;

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const entry = (wallet: string, sourceId: string): LedgerEntry => ({
  wallet,
  mode: 'regular',
  kind: 'game',
  reason: 'score',
  source: 'score',
  sourceId,
  points: 5,
  rewards: true,
});

test('a row of a writer from before midnight keeps the value that another writer added after midnight', async () => {
  const midnight = (Math.floor(Date.now() / DAY_MS) + 30) * DAY_MS;
  await t.clock.set(new Date(midnight - 1_000));
  await rebuildBoard(t.app, 'global');
  const { address } = createWallet();
  const opened = await t.app.tx((tx) => openDay(tx));
  await t.clock.set(new Date(midnight + 1_000));
  const later = await t.app.tx(async (tx) => {
    const open = await openDay(tx);
    return { day: open.day, rows: await appendPoints(tx, open, [entry(address, 'after')]) };
  });
  const earlier = await t.app.tx((tx) => appendPoints(tx, opened, [entry(address, 'before')]));
  await applyToBoard(t.app, 'global', opened.day, earlier);
  await applyToBoard(t.app, 'global', later.day, later.rows);
  const page = await readPage(t.app, 'global', { span: 'day', limit: 10, offset: 0 });
  expect(page.entries).toEqual([{ rank: 1, wallet: address, score: 5 }]);
});

test('a board that was completed before a restart of Redis returns no ranks', async () => {
  const { address } = createWallet();
  await rebuildBoard(t.app, 'global');
  expect(await applyToBoard(t.app, 'global', 0, [], [address])).toHaveLength(1);
  await t.app.redis.set(boardKeys(t.app.config.redis.prefix, 'global').ready, 'another-run-id');
  expect(await applyToBoard(t.app, 'global', 0, [], [address])).toBeNull();
});

test('the sorted set of a day and its sum expire two days after the day, and those of all time never', async () => {
  const { day, rows } = await t.app.tx(async (tx) => {
    const open = await openDay(tx);
    return { day: open.day, rows: await appendPoints(tx, open, [entry(createWallet().address, 'expiry')]) };
  });
  const keys = boardKeys(t.app.config.redis.prefix, 'global');
  await t.app.redis.unlink(keys.span('day', day), keys.sum('day', day));
  await applyToBoard(t.app, 'global', day, rows);
  const expiryOf = (key: string) => t.app.redis.pexpiretime(key);
  const end = (day + 3) * DAY_MS;
  expect(await Promise.all([keys.span('day', day), keys.sum('day', day), keys.span('all', 0)].map(expiryOf))).toEqual([end, end, -1]);
});

test('wallets with equal scores have the rank of the first of them, also in a neighbourhood that begins among them', async () => {
  // A board lists wallets with equal scores in the reverse order of their addresses.
  const wallets = Array.from({ length: 9 }, () => createWallet().address)
    .sort()
    .reverse();
  const points = [900, 500, 500, 500, 500, 500, 500, 300, 100];
  const rows = await t.app.tx(async (tx) => {
    const entries = wallets.map((wallet, i) => ({ ...entry(wallet, `tie-${i}`), points: points[i] ?? 0 }));
    return await appendPoints(tx, await openDay(tx), entries);
  });
  await rebuildBoard(t.app, 'global');
  const asked = [0, 4, 7, 8].map((i) => wallets[i] ?? '');
  const found = await applyToBoard(t.app, 'global', 0, rows, asked);
  expect(found?.map(({ rank, pointsToNext, neighbours }) => [rank, pointsToNext, neighbours.slice(0, 2).map((line) => line.rank)])).toEqual([
    [1, null, [2, 2]],
    [2, 400, [2, 2]],
    [8, 200, [2, 2]],
    [9, 200, [2, 8]],
  ]);
});

test('a complete board is read from Redis and not from the database', async () => {
  await rebuildBoard(t.app, 'global');
  const keys = boardKeys(t.app.config.redis.prefix, 'global');
  await t.app.redis.zadd(keys.span('all', 0), 1_000_000, 'only-in-redis');
  const page = await readPage(t.app, 'global', { span: 'all', limit: 1, offset: 0 });
  expect(page).toMatchObject({ entries: [{ rank: 1, wallet: 'only-in-redis', score: 1_000_000 }], final: false });
  expect(await readRank(t.app, 'global', { span: 'all', wallet: 'only-in-redis' })).toMatchObject({ rank: 1, score: 1_000_000 });
  await t.app.redis.zrem(keys.span('all', 0), 'only-in-redis');
});

test('the size of a complete board is the number, the sum and the maximum of the points of its wallets', async () => {
  await rebuildBoard(t.app, 'quests');
  for (const points of [30, 12, 5]) await givePoints(t.app, { wallet: createWallet().address, points, kind: 'quest' });
  const size = { participants: 3, points: 47, topScore: 30, final: false };
  for (const span of ['all', 'day'] as const) expect(await readSummary(t.app, 'quests', { span })).toEqual(size);
  await rebuildBoard(t.app, gameBoard('a-game'));
  await scoreBest(t.app, { wallet: createWallet().address, gameId: 'a-game', value: 7 });
  // Nobody reads the sum of the best scores of a game, so it is not stored.
  const keys = boardKeys(t.app.config.redis.prefix, gameBoard('a-game'));
  expect([await t.app.redis.zcard(keys.span('all', 0)), await t.app.redis.exists(keys.sum('all', 0))]).toEqual([1, 0]);
});

test('the sum of a board is right although standings arrive in another order, twice or never, or were below zero before', async () => {
  await rebuildBoard(t.app, 'global');
  const [first, second] = [createWallet().address, createWallet().address];
  const before = (await readSummary(t.app, 'global', { span: 'all' })).points;
  let n = 0;
  const give = (wallet: string, points: number) =>
    t.app.tx(async (tx) => {
      const open = await openDay(tx);
      const rows = await appendPoints(tx, open, [{ ...entry(wallet, `sum-${n++}`), points }], { areNew: true });
      return () => applyToBoard(t.app, 'global', open.day, rows);
    });
  const [one, two, three] = [await give(first, 10), await give(first, 20), await give(first, 40)];
  for (const apply of [two, one, two, three]) await apply();
  await (await give(second, -50))();
  await (await give(second, 60))();
  await give(second, 3);
  await (await give(second, 5))();
  await (await give(second, 7))();
  const sums = async () => Promise.all((['all', 'day', 'year'] as const).map(async (span) => (await readSummary(t.app, 'global', { span })).points));
  expect((await sums())[0]).toBe(before + 70 + 25);
  const shown = await sums();
  await rebuildBoard(t.app, 'global');
  expect(await sums()).toEqual(shown);
});

test('the rank of a changed value is known at once, and the board then shows the change, although the refresh job has not run', async () => {
  await rebuildBoard(t.app, 'global');
  const { address: wallet } = createWallet();
  const place = async () => (await readPlaces(t.app, 'global', [wallet]))[0];
  await givePoints(t.app, { wallet, points: 50_000 }, 'refresh');
  expect(await place()).toMatchObject({ rank: null });
  expect(await rankChanges(t.app, 'global', [{ wallet, value: 50_000 }])).toEqual([1]);
  expect(await place()).toMatchObject({ rank: 1, score: 50_000 });
  await givePoints(t.app, { wallet, points: -50_000 }, 'refresh');
  expect(await rankChanges(t.app, 'global', [{ wallet, value: null }])).toEqual([null]);
  expect(await place()).toMatchObject({ rank: null });
});
