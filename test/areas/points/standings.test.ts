import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  appendPoints,
  choosePlayerMode,
  ensurePlayer,
  gameBoard,
  LEDGER_CAUSES,
  openDay,
  raiseBests,
  readPage,
  readPlayerMode,
  readPlayerPoints,
  readPointTotals,
  readStandings,
  readTotals,
  rebuildBoard,
  refreshBoards,
  refreshStandings,
  resetBest,
  scheduleRefresh,
} from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createGame, givePoints, scoreBest, sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAME = 'standing-game';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await createGame(t.app, GAME);
});
afterAll(() => t.close());

const createAddress = () => createWallet().address;

test('recomputed best scores replace the best of all time, of each current period and of each period before', async () => {
  const wallet = createAddress();
  const key = { board: gameBoard(GAME), mode: 'regular', wallet } as const;
  await t.clock.set(new Date('2034-06-15T12:00:00Z'));
  await scoreBest(t.app, { wallet, gameId: GAME, value: 900 });
  // Without periods before the current ones, their values stay empty.
  const [first] = await t.app.tx((tx) => resetBest(tx, key, [9, 8, 7, 6, 5, 4, 3, 2, 1]));
  expect(first).toMatchObject({ version: 2, total: 9, day_value: 8, week_value: 6, month_value: 4, year_value: 2, day_before: null });
  expect(await sql(t.app, 'select day_before_value as d, year_before_value as y from standings where wallet = $1', [wallet])).toEqual([
    { d: null, y: null },
  ]);
  await t.clock.set(new Date('2035-06-15T12:00:00Z'));
  await scoreBest(t.app, { wallet, gameId: GAME, value: 950 });
  const [second] = await t.app.tx((tx) => resetBest(tx, key, [90, 80, 70, 60, 50, 40, 30, 20, 10]));
  expect(second).toMatchObject({ version: 4, total: 90, day_value: 80, week_value: 60, month_value: 40, year_value: 20 });
  const columns = ['day', 'week', 'month', 'year'].map((period) => `${period}_before_value::int as ${period}`);
  expect(await sql(t.app, `select ${columns.join()} from standings where wallet = $1`, [wallet])).toEqual([
    { day: 70, week: 50, month: 30, year: 10 },
  ]);
});

test('a reset of best scores changes only the standing with its board, mode and wallet', async () => {
  const [wallet, other] = [createAddress(), createAddress()];
  for (const mode of ['regular', 'beta'] as const) await scoreBest(t.app, { wallet, gameId: GAME, value: 500, mode });
  await scoreBest(t.app, { wallet: other, gameId: GAME, value: 600 });
  await givePoints(t.app, { wallet, points: 7 });
  await t.app.tx((tx) => resetBest(tx, { board: gameBoard(GAME), mode: 'regular', wallet }, new Array(9).fill(1)));
  const rows = await sql(t.app, 'select board, mode, total::int from standings where wallet = any($1) order by wallet = $2, board, mode', [
    [wallet, other],
    other,
  ]);
  expect(rows).toEqual([
    { board: gameBoard(GAME), mode: 'beta', total: 500 },
    { board: gameBoard(GAME), mode: 'regular', total: 1 },
    { board: 'global', mode: 'regular', total: 7 },
    { board: gameBoard(GAME), mode: 'regular', total: 600 },
  ]);
});

test('standings and totals are read by board, mode and wallet, not by any of them alone', async () => {
  const [a, b] = [createAddress(), createAddress()];
  await givePoints(t.app, { wallet: a, points: 3 });
  await givePoints(t.app, { wallet: a, points: 4, kind: 'quest' });
  await givePoints(t.app, { wallet: a, points: 9, mode: 'beta' });
  await givePoints(t.app, { wallet: b, points: 5 });
  const keys = [
    { board: 'quests', mode: 'regular', wallet: a },
    { board: 'global', mode: 'beta', wallet: a },
    { board: 'quests', mode: 'regular', wallet: b },
  ] as const;
  const rows = await t.app.tx((tx) => readStandings(tx, keys));
  expect(rows.map(({ board, mode, wallet, total }) => ({ board, mode, wallet, total }))).toEqual([
    { board: 'quests', mode: 'regular', wallet: a, total: 4 },
    { board: 'global', mode: 'beta', wallet: a, total: 9 },
  ]);
  expect(await t.app.tx((tx) => readStandings(tx, []))).toEqual([]);
  const both = [
    { board: 'global', wallet: a },
    { board: 'quests', wallet: b },
  ];
  expect(await t.app.tx((tx) => readTotals(tx, 'regular', both))).toEqual([
    { board: 'global', mode: 'regular', wallet: a, total: 7, day: expect.any(Number), dayValue: 7 },
  ]);
  expect(await t.app.tx((tx) => readTotals(tx, 'beta', both))).toEqual([
    { board: 'global', mode: 'beta', wallet: a, total: 9, day: expect.any(Number), dayValue: 9 },
  ]);
  expect(await t.app.tx((tx) => readTotals(tx, 'beta', []))).toEqual([]);
});

test('the points of a wallet contain its own standings on the requested boards, in both modes', async () => {
  const [wallet, other] = [createAddress(), createAddress()];
  expect(await readPlayerPoints(t.app.db, wallet, ['global'])).toBeNull();
  const before = Date.now() - 5_000;
  await t.app.tx(async (tx) => {
    for (const one of [wallet, other]) await ensurePlayer(tx, one);
  });
  await givePoints(t.app, { wallet, points: 3 });
  await givePoints(t.app, { wallet, points: 6, kind: 'referral' });
  await givePoints(t.app, { wallet, points: 9, mode: 'beta' });
  await givePoints(t.app, { wallet: other, points: 5 });
  const found = await readPlayerPoints(t.app.db, wallet, ['global', 'quests']);
  expect(found).toMatchObject({ mode: 'regular', tally: {}, convertedBeta: 0, convertedPoints: 0 });
  expect(found?.since).toBeGreaterThan(before);
  const totals = found?.standings.map(({ board, mode, wallet: owner, total }) => [board, mode, owner === wallet, total]);
  expect(totals?.sort()).toEqual([
    ['global', 'beta', true, 9],
    ['global', 'regular', true, 9],
  ]);
});

test('the mode of a wallet is set, or switched to the other mode, and other wallets keep theirs', async () => {
  const [wallet, other] = [createAddress(), createAddress()];
  const choose = (mode: 'regular' | 'beta' | null) => t.app.tx((tx) => choosePlayerMode(tx, wallet, mode));
  expect([await choose('beta'), await readPlayerMode(t.app.db, wallet)]).toEqual([null, null]);
  await t.app.tx(async (tx) => {
    for (const one of [wallet, other]) expect(await ensurePlayer(tx, one)).toEqual({ banned: false });
  });
  expect([await choose(null), await choose(null), await choose('beta'), await choose('beta')]).toEqual(['beta', 'regular', 'beta', 'beta']);
  expect([await readPlayerMode(t.app.db, wallet), await readPlayerMode(t.app.db, other)]).toEqual(['beta', 'regular']);
});

test('the totals of points sum regular points by origin, minus the points that were taken back', async () => {
  await t.clock.set(new Date('2036-01-01T12:00:00Z'));
  const wallet = createAddress();
  const before = await readPointTotals(t.app.db);
  await givePoints(t.app, { wallet, points: 5 });
  await givePoints(t.app, { wallet, points: 70, mode: 'beta' });
  await givePoints(t.app, { wallet, points: 4, kind: 'quest' });
  await t.clock.set(new Date('2036-01-02T12:00:00Z'));
  await givePoints(t.app, { wallet, points: -2 });
  await givePoints(t.app, { wallet, points: 1, kind: 'referral' });
  await givePoints(t.app, { wallet, points: 30, kind: 'conversion' });
  const { game, quest, referral, conversion } = await readPointTotals(t.app.db);
  expect({ game, quest, referral, conversion }).toEqual({
    game: before.game + 3,
    quest: before.quest + 4,
    referral: before.referral + 1,
    conversion: before.conversion + 30,
  });
});

test('of several scores of a wallet in one call, the best counts for all time and for each period', async () => {
  const wallet = createAddress();
  const best = { board: gameBoard(GAME), mode: 'regular', wallet } as const;
  const rows = await t.app.tx(async (tx) => {
    const { day } = await openDay(tx);
    return await raiseBests(
      tx,
      day,
      [30, 50, 40].map((value) => ({ ...best, value })),
    );
  });
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({ wallet, total: 50, day_value: 50, week_value: 50, month_value: 50, year_value: 50 });
});

test('the factors of a ledger entry are stored with it', async () => {
  const [wallet, other] = [createAddress(), createAddress()];
  const cause = LEDGER_CAUSES.find(({ kind }) => kind === 'quest') ?? LEDGER_CAUSES[0];
  const entry = { ...cause, mode: 'regular', points: 1, rewards: true, sourceId: wallet } as const;
  await t.app.tx(async (tx) =>
    appendPoints(tx, await openDay(tx), [
      { ...entry, wallet, factors: { streak: 3 } },
      { ...entry, wallet: other },
    ]),
  );
  const rows = await sql(t.app, 'select factors from ledger where wallet = any($1) order by wallet = $2', [[wallet, other], other]);
  expect(rows).toEqual([{ factors: { streak: 3 } }, { factors: null }]);
});

test('a refresh of boards is marked and enqueued for regular standings only', async () => {
  const wallet = createAddress();
  await givePoints(t.app, { wallet, points: 4, mode: 'beta' }, 'refresh');
  const marks = () => sql<{ board: string }>(t.app, 'select board from board_refreshes where wallet = $1', [wallet]);
  expect(await marks()).toEqual([]);
  await givePoints(t.app, { wallet, points: 4, kind: 'quest' }, 'refresh');
  expect((await marks()).map(({ board }) => board).sort()).toEqual(['global', 'quests']);
  await t.app.tx((tx) => scheduleRefresh(tx, []));
});

test('a ban takes the regular standings of its wallet off the boards, its end puts them back, and other standings stay unchanged', async () => {
  const [wallet, other] = [createAddress(), createAddress()];
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  for (const one of [wallet, other]) {
    await givePoints(t.app, { wallet: one, points: 4_000 });
    await givePoints(t.app, { wallet: one, points: 4_000, mode: 'beta' });
  }
  await rebuildBoard(t.app, 'global');
  const listed = async () => {
    await refreshBoards(t.app);
    const { entries } = await readPage(t.app, 'global', { span: 'all', limit: 500, offset: 0 });
    return [wallet, other].map((one) => entries.some((line) => line.wallet === one));
  };
  expect(await listed()).toEqual([true, true]);
  for (const [time, isListed] of [
    ['app_now()', false],
    ['null', true],
  ] as const) {
    await sql(t.app, `update players set banned_at = ${time} where wallet = $1`, [wallet]);
    const standings = await t.app.tx((tx) => refreshStandings(tx, wallet));
    expect(standings.map(({ board, mode, total }) => [board, mode, total])).toEqual([['global', 'regular', 4_000]]);
    expect(await listed()).toEqual([isListed, true]);
  }
  const versions = await sql(t.app, `select version::int as version from standings where wallet = any($1) order by wallet = $2, mode`, [
    [wallet, other],
    other,
  ]);
  expect(versions).toEqual([1, 3, 1, 1].map((version) => ({ version })));
});
