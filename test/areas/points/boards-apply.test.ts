import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { appendPoints, applyToBoard, boardKeys, type LedgerEntry, openDay, readPage, rebuildBoard } from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
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
