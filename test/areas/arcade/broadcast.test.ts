import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BoardChange, type RecordedScore, readRecordedLine, recordedLine } from '#areas/arcade/events.ts';
import { scoreEvents, selectChanges } from '#areas/arcade/scores/broadcast.ts';
import { recentPlaces } from '#areas/arcade/scores/recent-places.ts';
import { applyToBoard, gameBoard, readPlaces, rebuildBoard } from '#areas/points';
import { dayNumber } from '#lib/periods.ts';
import type { OwnItem } from '#platform/events/event.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createGame, loseBoards, scoreBest } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAMES = ['broadcast-one', 'broadcast-two'] as const;
const AT = '2031-01-01T00:00:00.000Z';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  for (const game of GAMES) await createGame(t.app, game);
});
afterAll(() => t.close());

const rebuild = async () => {
  for (const game of GAMES) await rebuildBoard(t.app, gameBoard(game));
};
const change = (wallet: string, score: number | null, gameId: string = GAMES[0]): BoardChange => ({ wallet, gameId, score });
const recorded = (wallet: string, normalizedScore: number, gameId: string = GAMES[0]): RecordedScore => {
  const receipt = { scoreId: `${wallet}-${normalizedScore}`, status: 'accepted', normalizedScore, pointsAwarded: 2 * normalizedScore } as const;
  const rest = { noPointsReason: null, leftToday: { game: 1, all: 2 }, personalBest: false };
  return readRecordedLine(recordedLine(wallet, gameId, { ...receipt, ...rest }));
};
/** Returns the payload of an unpacked item. */
const payloadOf = ({ members }: OwnItem): Record<string, unknown> => JSON.parse(`{${members}}`);
const encode = (changes: BoardChange[], scores: RecordedScore[] = []) =>
  scoreEvents(t.app).encode([
    { at: AT, items: { scores: [], changes } },
    { at: AT, items: { scores, changes: [] } },
  ]);
const ranksOf = async (...changes: BoardChange[]) =>
  ((await encode(changes)).shared as { updates: { wallet: string; gameId: string; rank: number | null }[] }).updates.map(({ rank }) => rank);

test('a broadcast contains the latest change of each wallet and game', () => {
  const changes = [change('a', 5), change('b', 1), change('a', 4), change('a', 3, GAMES[1]), change('b', null)];
  expect(selectChanges(changes).shown).toEqual([change('a', 4), change('b', null), change('a', 3, GAMES[1])]);
});

test('of two games with more changes than fit, the one with fewer changes is complete', () => {
  const of = (gameId: string, n: number) => Array.from({ length: n }, (_, i) => change(`w${i}`, i, gameId));
  const { shown, more } = selectChanges([...of(GAMES[0], 4), ...of(GAMES[1], 2)], 5);
  expect([shown.length, more]).toEqual([5, [GAMES[0]]]);
  expect(selectChanges([...of(GAMES[0], 4), ...of(GAMES[1], 3)], 2).more).toEqual(GAMES);
});

test('recorded scores are returned to their own wallets with all fields and their places', async () => {
  await rebuild();
  const [first, second] = [createWallet().address, createWallet().address];
  await scoreBest(t.app, { wallet: first, gameId: GAMES[0], value: 95 });
  const scores = [recorded(first, 5), recorded(second, 1, GAMES[1]), recorded(first, 4)];
  const { own } = await encode([], scores);
  expect(own[0]).toBe('');
  const places = new Map([
    [first, (await readPlaces(t.app, gameBoard(GAMES[0]), [first]))[0]],
    [second, (await readPlaces(t.app, gameBoard(GAMES[1]), [second]))[0]],
  ]);
  expect(places.get(first)).toMatchObject({ rank: 1, score: 95 });
  const unpacked = scoreEvents(t.app).unpack(own[1] ?? '', () => true);
  expect(unpacked.map((item) => [item.wallet, item.index, item.at, payloadOf(item)])).toEqual(
    scores.map(({ wallet, gameId, receipt }, i) => [wallet, i + 1, AT, { gameId, ...JSON.parse(`{${receipt}}`), rank: places.get(wallet) }]),
  );
  expect(
    scoreEvents(t.app)
      .unpack(own[1] ?? '', (wallet) => wallet === second)
      .map(({ wallet, index }) => [wallet, index]),
  ).toEqual([[second, 2]]);
});

test('the worker that recorded a score publishes the place of its reply without reading it again', async () => {
  const [own, other] = [recorded('published', 5), recorded('published', 4)];
  const place = { rank: 3, score: 7, percentile: 50, pointsToNext: 1, neighbours: [] };
  t.app.state(recentPlaces).keep(own.scoreId, place);
  const read: string[][] = [];
  const ranks = {
    ofChanges: async () => [],
    ofWallets: async (_app: unknown, _gameId: string, wallets: readonly string[]) => {
      read.push([...wallets]);
      return wallets.map(() => null);
    },
  };
  const published = await scoreEvents(t.app, ranks).encode([{ at: AT, items: { changes: [], scores: [own, other] } }]);
  expect(
    scoreEvents(t.app)
      .unpack(published.own[0] ?? '', () => true)
      .map(payloadOf),
  ).toMatchObject([{ rank: place }, { rank: null }]);
  expect(read).toEqual([['published']]);
});

test('broadcast changes have the all-time ranks that their values give', async () => {
  await rebuild();
  const [best, first, second, gone] = [createWallet().address, createWallet().address, createWallet().address, createWallet().address];
  await scoreBest(t.app, { wallet: best, gameId: GAMES[1], value: 9_000 });
  await scoreBest(t.app, { wallet: first, gameId: GAMES[1], value: 8_000 });
  await scoreBest(t.app, { wallet: second, gameId: GAMES[1], value: 8_000 });
  expect(await ranksOf(change(first, 8_000, GAMES[1]), change(second, 8_000, GAMES[1]), change(gone, null, GAMES[1]))).toEqual([2, 2, null]);
  // A change of the past has the rank of its own value, although the wallet has a better value by now.
  expect(await ranksOf(change(best, 8_500, GAMES[1]), change(best, 500, GAMES[0]))).toEqual([1, 1]);
});

test('a change that the board in Redis does not show yet is copied to the board before it is broadcast', async () => {
  await rebuild();
  const board = gameBoard(GAMES[0]);
  const [late, gone] = [createWallet().address, createWallet().address];
  await scoreBest(t.app, { wallet: late, gameId: GAMES[0], value: 7_000 }, 'refresh');
  const shown = async () => (await applyToBoard(t.app, board, dayNumber(t.clock.now()), [], [late]))?.map(({ rank, score }) => [rank, score]);
  expect(await shown()).toEqual([[null, 0]]);
  expect(await ranksOf(change(late, 7_000), change(gone, null))).toEqual([1, null]);
  expect(await shown()).toEqual([[1, 7_000]]);
});

test('a broadcast has at most 100 changes, and names the game that has more', async () => {
  await rebuild();
  const many = Array.from({ length: 100 }, (_, i) => change(`wallet ${i}`, null));
  expect((await encode(many)).shared).toEqual({ updates: many.map((one) => ({ ...one, rank: null })) });
  const { shared } = await encode([...many, change('wallet 1', null, GAMES[1])]);
  expect(shared).toMatchObject({ more: [GAMES[0]] });
  expect((shared as { updates: object[] }).updates).toHaveLength(100);
});

test('changes are broadcast without ranks while the board is not complete in Redis', async () => {
  await loseBoards(t.app, 'all');
  const { own, shared } = await encode([change('a', 5)], [recorded('a', 5)]);
  expect(shared).toEqual({ updates: [{ ...change('a', 5), rank: null }] });
  expect(own[1]).toContain('"rank":null');
});
