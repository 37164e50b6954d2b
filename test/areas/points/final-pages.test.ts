import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { appendPoints, closeEndedPeriods, ensurePlayer, LEDGER_CAUSES, openDay, readPage, readRank, readSummary } from '#areas/points';
import { readFinals } from '#areas/points/shown-finals.ts';
import { parseDay } from '#lib/periods.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp({ workers: false });
  await t.clock.set(new Date('2031-01-01T12:00:00Z'));
});
afterEach(() => t.close());

const at = (text: string) => t.clock.set(new Date(text));
const closedDays = async () =>
  (await sql<{ bucket: number }>(t.app, `select bucket from closed_periods where period = 'day' order by bucket`)).map(({ bucket }) => bucket);

test('a page of final ranks begins at its offset, and the neighbours of a wallet are the ones next to it', async () => {
  const wallets = Array.from({ length: 8 }, () => createWallet().address);
  for (const [i, wallet] of wallets.entries()) await givePoints(t.app, { wallet, points: 80 - 10 * i });
  await at('2031-01-02T00:02:00Z');
  await closeEndedPeriods(t.app);
  const day = parseDay('2031-01-01');
  const page = await readPage(t.app, 'global', { span: 'day', at: day, limit: 3, offset: 2 });
  expect(page).toEqual({
    final: true,
    total: 8,
    entries: [2, 3, 4].map((i) => ({ rank: i + 1, wallet: wallets[i], score: 80 - 10 * i })),
  });
  const around = await readPage(t.app, 'global', { span: 'day', at: day, limit: 3, offset: 0, around: wallets[5] });
  expect(around.entries.map(({ rank }) => rank)).toEqual([5, 6, 7]);
  const rank = await readRank(t.app, 'global', { span: 'day', at: day, wallet: wallets[5] ?? '' });
  expect(rank).toMatchObject({ rank: 6, score: 30, pointsToNext: 10, percentile: 37.5 });
  expect(rank.neighbours.map((line) => line.rank)).toEqual([4, 5, 7, 8]);
});

test('a page of final ranks around a wallet near an end of the board is full, and a page longer than the board has every line', async () => {
  const wallets = Array.from({ length: 8 }, () => createWallet().address);
  for (const [i, wallet] of wallets.entries()) await givePoints(t.app, { wallet, points: 80 - 10 * i });
  await at('2031-01-02T00:02:00Z');
  await closeEndedPeriods(t.app);
  const day = parseDay('2031-01-01');
  const ranksAround = async (place: number, limit: number) =>
    (await readPage(t.app, 'global', { span: 'day', at: day, limit, offset: 5, around: wallets[place - 1] })).entries.map(({ rank }) => rank);
  expect(await ranksAround(1, 3)).toEqual([1, 2, 3]);
  expect(await ranksAround(2, 4)).toEqual([1, 2, 3, 4]);
  expect(await ranksAround(4, 4)).toEqual([2, 3, 4, 5]);
  expect(await ranksAround(7, 4)).toEqual([5, 6, 7, 8]);
  expect(await ranksAround(8, 3)).toEqual([6, 7, 8]);
  expect(await ranksAround(6, 20)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('for a page of final ranks, only the lines of the page are read', async () => {
  const wallets = Array.from({ length: 8 }, () => createWallet().address);
  for (const [i, wallet] of wallets.entries()) await givePoints(t.app, { wallet, points: 80 - 10 * i });
  await at('2031-01-02T00:02:00Z');
  await closeEndedPeriods(t.app);
  const scope = { board: 'global', span: 'day', bucket: parseDay('2031-01-01'), past: true } as const;
  const read = await readFinals(t.app, scope, [{ offset: 2, limit: 3 }]);
  expect([read.total, [...read.rows.keys()]]).toEqual([8, [3, 4, 5]]);
  const last = await readFinals(t.app, scope, [{ offset: 6, limit: 3 }]);
  expect([...last.rows.values()].map(({ wallet }) => wallet)).toEqual(wallets.slice(6));
});

test('final ranks leave out banned wallets, whose lines move the others up, and their points are in no sum', async () => {
  const wallets = Array.from({ length: 8 }, () => createWallet().address);
  for (const [i, wallet] of wallets.entries()) {
    await t.app.tx((tx) => ensurePlayer(tx, wallet));
    await givePoints(t.app, { wallet, points: 80 - 10 * i });
  }
  await at('2031-01-02T00:02:00Z');
  await closeEndedPeriods(t.app);
  const day = { span: 'day', at: parseDay('2031-01-01') } as const;
  expect(await readSummary(t.app, 'global', day)).toEqual({ participants: 8, points: 360, topScore: 80, final: true });
  const [first, second, third, fourth, ...rest] = wallets;
  await sql(t.app, 'update players set banned_at = app_now() where wallet = any($1)', [[first, third]]);
  const page = await readPage(t.app, 'global', { ...day, limit: 3, offset: 0 });
  expect(page).toEqual({
    final: true,
    total: 6,
    entries: [
      { rank: 1, wallet: second, score: 70 },
      { rank: 2, wallet: fourth, score: 50 },
      { rank: 3, wallet: rest[0], score: 40 },
    ],
  });
  expect((await readPage(t.app, 'global', { ...day, limit: 9, offset: 3 })).entries.map(({ rank, score }) => [rank, score])).toEqual([
    [4, 30],
    [5, 20],
    [6, 10],
  ]);
  expect(await readRank(t.app, 'global', { ...day, wallet: fourth ?? '' })).toMatchObject({ rank: 2, score: 50, pointsToNext: 20 });
  expect(await readRank(t.app, 'global', { ...day, wallet: third ?? '' })).toMatchObject({ rank: null, neighbours: [] });
  expect(await readSummary(t.app, 'global', day)).toEqual({ participants: 6, points: 220, topScore: 70, final: true });
});

test('among final ranks, a wallet that shares its rank with many has the distance to the next better score', async () => {
  const wallets = Array.from({ length: 9 }, () => createWallet().address);
  for (const [i, wallet] of wallets.entries()) await givePoints(t.app, { wallet, points: i === 0 ? 100 : 50 });
  await at('2031-01-02T00:02:00Z');
  await closeEndedPeriods(t.app);
  const day = { span: 'day', at: parseDay('2031-01-01') } as const;
  const { entries } = await readPage(t.app, 'global', { ...day, limit: 9, offset: 0 });
  expect(entries.map(({ rank }) => rank)).toEqual([1, ...Array(8).fill(2)]);
  expect(await readRank(t.app, 'global', { ...day, wallet: entries[8]?.wallet ?? '' })).toMatchObject({ rank: 2, pointsToNext: 50 });
  // Of the other wallets with this rank, only the neighbours are read.
  const scope = { board: 'global', span: 'day', bucket: day.at, past: true } as const;
  const { rows } = await readFinals(t.app, scope, [{ wallet: entries[8]?.wallet ?? '', reach: 2 }]);
  expect([...rows.keys()].sort((a, b) => a - b)).toEqual([1, 7, 8, 9]);
  expect(await readRank(t.app, 'global', { ...day, wallet: wallets[0] ?? '' })).toMatchObject({ rank: 1, pointsToNext: null });
});

test('a page of an ended day without stored final ranks lists each wallet once', async () => {
  const [both, first] = [createWallet().address, createWallet().address];
  await givePoints(t.app, { wallet: both, points: 5 });
  await givePoints(t.app, { wallet: first, points: 4 });
  await at('2031-01-02T12:00:00Z');
  await givePoints(t.app, { wallet: both, points: 3 });
  const page = await readPage(t.app, 'global', { span: 'day', at: parseDay('2031-01-01'), limit: 10, offset: 0 });
  expect(page).toEqual({
    final: false,
    total: 2,
    entries: [
      { rank: 1, wallet: both, score: 5 },
      { rank: 2, wallet: first, score: 4 },
    ],
  });
});

test('the first run closes every day since the first day with points or scores', async () => {
  await givePoints(t.app, { wallet: createWallet().address, points: 1 });
  await at('2031-01-03T12:00:00Z');
  await givePoints(t.app, { wallet: createWallet().address, points: 1 });
  await at('2031-01-05T00:02:00Z');
  await closeEndedPeriods(t.app);
  const first = parseDay('2031-01-01');
  expect(await closedDays()).toEqual([first, first + 1, first + 2, first + 3]);
});

test('two transactions that append the same causes in different orders do not deadlock', async () => {
  const cause = (kind: 'game' | 'quest') => LEDGER_CAUSES.find((one) => one.kind === kind) ?? LEDGER_CAUSES[0];
  // The counters of game points and quest points are different rows, so the transactions wait for causes only.
  const low = { ...cause('quest'), mode: 'regular', wallet: createWallet().address, sourceId: 'a', points: 1, rewards: true } as const;
  const high = { ...cause('game'), mode: 'regular', wallet: createWallet().address, sourceId: 'b', points: 1, rewards: true } as const;
  const append = async (tx: Tx, entries: Parameters<typeof appendPoints>[2]) => appendPoints(tx, await openDay(tx), entries);
  const commit = await holdTransaction(t.app, (tx) => append(tx, [low]));
  const waiting = t.app.tx((tx) => append(tx, [high, low]));
  await untilBlocked(t.app, waiting);
  // The waiting transaction has not appended the higher cause yet, so another transaction can.
  const other = t.app.tx((tx) => append(tx, [high]));
  const timeout = new Promise((resolve) => setTimeout(resolve, 5_000, 'blocked'));
  expect(await Promise.race([other, timeout])).not.toBe('blocked');
  await commit();
  await Promise.all([waiting, other]);
  expect(await sql(t.app, 'select source_id, points::int from ledger order by source_id')).toEqual([
    { source_id: 'a', points: 1 },
    { source_id: 'b', points: 1 },
  ]);
});
