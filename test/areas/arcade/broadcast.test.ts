import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ScoreUpdate } from '#areas/arcade/events.ts';
import { scoreBroadcast, selectBroadcast } from '#areas/arcade/scores/broadcast.ts';
import { gameBoard, rebuildBoard } from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createGame, scoreBest } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAMES = ['broadcast-one', 'broadcast-two'] as const;

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  for (const game of GAMES) {
    await createGame(t.app, game);
    await rebuildBoard(t.app, gameBoard(game));
  }
});
afterAll(() => t.close());

const update = (wallet: string, score: number, more: Partial<ScoreUpdate> = {}): ScoreUpdate => ({
  ...{ wallet, gameId: GAMES[0], score, scoreId: `${wallet} ${score}`, pointsAwarded: 2 * score, personalBest: false },
  ...more,
});

test('of equal scores of a wallet, the newer one is broadcast unless the older one is a personal best', () => {
  const [older, newer] = [update('a', 5, { scoreId: 'older' }), update('a', 5, { scoreId: 'newer' })];
  expect(selectBroadcast([older, newer])).toEqual([newer]);
  const best = { ...older, personalBest: true };
  expect(selectBroadcast([best, newer])).toEqual([best]);
});

test('a lower score changes neither the broadcast score nor its place, and later scores still count', () => {
  const shown = selectBroadcast([update('a', 5), update('b', 1), update('a', 4), update('c', 2)]);
  expect(shown.map(({ wallet, score }) => [wallet, score])).toEqual([
    ['c', 2],
    ['b', 1],
    ['a', 5],
  ]);
  // A better score moves the wallet to the newest place.
  expect(selectBroadcast([update('a', 5), update('b', 1), update('a', 6)]).map(({ wallet }) => wallet)).toEqual(['a', 'b']);
});

test('stored updates are returned to their own wallets with all fields', () => {
  const { pack, unpack } = scoreBroadcast(t.app);
  const updates = [update('a', 5, { personalBest: true }), update('b', 1, { gameId: GAMES[1] })];
  const text = pack('2031-01-01T00:00:00.000Z', updates);
  expect(unpack(text, () => true)).toEqual(
    updates.map((one, i) => ({ wallet: one.wallet, index: i + 1, at: '2031-01-01T00:00:00.000Z', payload: { updates: [one] } })),
  );
  expect(unpack(text, (wallet) => wallet === 'b').map(({ wallet, index }) => [wallet, index])).toEqual([['b', 2]]);
});

test('broadcast scores have the all-time ranks of their wallets in their games', async () => {
  const [first, second, unranked] = [createWallet().address, createWallet().address, createWallet().address];
  for (const [i, gameId] of GAMES.entries()) {
    await scoreBest(t.app, { wallet: first, gameId, value: i === 0 ? 90 : 10 });
    await scoreBest(t.app, { wallet: second, gameId, value: 50 });
  }
  const updates = [update(first, 90), update(second, 50), update(unranked, 1), update(first, 10, { gameId: GAMES[1] })];
  const { updates: shown } = (await scoreBroadcast(t.app).broadcast(updates)) as {
    updates: { wallet: string; gameId: string; rank: number | null }[];
  };
  expect(shown.map(({ wallet, gameId, rank }) => [wallet, gameId, rank])).toEqual([
    [first, GAMES[1], 2],
    [unranked, GAMES[0], null],
    [second, GAMES[0], 2],
    [first, GAMES[0], 1],
  ]);
});

test('scores are broadcast without ranks when the ranks cannot be read', async () => {
  const broken = scoreBroadcast(t.app, async () => {
    throw new Error('Redis is down');
  });
  expect(await broken.broadcast([update('a', 5)])).toEqual({ updates: [{ wallet: 'a', gameId: GAMES[0], score: 5, rank: null }] });
});
