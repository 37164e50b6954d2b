import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { UserStats } from '#areas/profile/schemas.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { recordScores, setBeta } from '#test/support/areas/beta.ts';
import { statusAndBody } from '#test/support/areas/epochs.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  for (const id of ['alpha', 'gamma']) await registerGame(t.url, ADMIN_TOKEN, id, { ...TEST_GAME, verification: 'none' });
});
afterAll(() => t.close());

const statsOf = (wallet: string) => jsonOf(send(t, `/users/${wallet}/stats`), UserStats);

test('public stats contain regular points and no beta points', async () => {
  const [player, better] = [await signIn(t), await signIn(t)];
  await recordScores(t.app, player.wallet, [
    { gameId: 'gamma', score: 3_000 },
    { gameId: 'alpha', score: 4_000 },
    { gameId: 'alpha', score: 2_000 },
  ]);
  await recordScores(t.app, better.wallet, [{ gameId: 'alpha', score: 10_000 }]);
  await setBeta(player, true);
  await recordScores(t.app, player.wallet, [{ gameId: 'gamma', score: 9_999 }]);
  expect(await statsOf(player.wallet)).toEqual({
    wallet: player.wallet,
    memberSince: expect.stringMatching(/Z$/),
    points: 90,
    rank: 2,
    percentile: 50,
    gamesPlayed: 2,
    scores: 3,
    games: [
      { gameId: 'alpha', best: 4_000, scores: 2, points: 60 },
      { gameId: 'gamma', best: 3_000, scores: 1, points: 30 },
    ],
  });
});

test('a wallet with beta scores only has no rank and no games in its public stats', async () => {
  const player = await signIn(t);
  await setBeta(player, true);
  await recordScores(t.app, player.wallet, [{ gameId: 'gamma', score: 9_999 }]);
  expect(await statsOf(player.wallet)).toMatchObject({ points: 0, rank: null, percentile: null, gamesPlayed: 0, scores: 0, games: [] });
});

test('public stats are cacheable, and a request with the current ETag gets 304', async () => {
  const { wallet } = await signIn(t);
  const first = await send(t, `/users/${wallet}/stats`);
  expect(first.headers.get('Cache-Control')).toBe('public, max-age=5');
  const again = await send(t, `/users/${wallet}/stats`, { headers: { 'If-None-Match': first.headers.get('ETag') ?? '' } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

test('a wallet that never signed in and an invalid address give 404', async () => {
  expect(await statusAndBody(send(t, `/users/${createWallet().address}/stats`))).toEqual([404, { error: 'the wallet has never signed in' }]);
  const error = 'no such resource: wallet must be a wallet address (base58 of 32 bytes)';
  expect(await statusAndBody(send(t, '/users/nobody/stats'))).toEqual([404, { error }]);
});
