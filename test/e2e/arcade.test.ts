import { expect, test } from '@jest/globals';
import { SYSTEM_ADMIN_TOKEN, startSystem } from '../../stack/system.ts';
import { registerGame } from '../support/arcade.ts';
import { contradictions } from '../support/invariants.ts';
import { eventually } from '../support/player.ts';
import { openEvents } from '../support/sse.ts';
import { createWallet, type SignedIn, send, signIn } from '../support/wallet.ts';

const GAME = 'e2e-game';

/** Asks any of the API processes, the next one each time. */
function anywhere(urls: readonly string[], player: SignedIn) {
  let turn = 0;
  return async <T>(path: string, json?: unknown, method = json === undefined ? 'GET' : 'POST'): Promise<{ status: number; body: T }> => {
    const url = urls[turn++ % urls.length] ?? '';
    const response = await send({ url }, path, { method, headers: { Cookie: player.cookie }, ...(json === undefined ? {} : { json }) });
    return { status: response.status, body: (await response.json()) as T };
  };
}

for (const processes of [1, 2]) {
  test(`wallets sign in, play, score, rank and hear of it: ${processes} API and ${processes} worker process(es)`, async () => {
    const system = await startSystem({ apis: processes, workers: processes });
    const last = system.urls.at(-1) ?? '';
    try {
      await registerGame(system.urls[0] ?? '', SYSTEM_ADMIN_TOKEN, GAME);
      const [ann, bob] = [await signIn({ url: system.urls[0] ?? '' }, createWallet()), await signIn({ url: last }, createWallet())];
      const stream = await openEvents({ url: last }, { query: 'categories=gameplay', cookie: bob.cookie });
      const asAnn = anywhere(system.urls, ann);
      const asBob = anywhere(system.urls, bob);

      for (const [ask, score] of [
        [asAnn, 4_000],
        [asBob, 7_000],
        [asAnn, 9_000],
      ] as const) {
        const play = await ask<{ playId: string }>(`/game/${GAME}/play`, {});
        expect(play.status).toBe(201);
        const receipt = await ask<object>('/arcade/score', { gameId: GAME, score, playId: play.body.playId });
        expect(receipt).toMatchObject({
          status: 200,
          body: { status: 'accepted', normalizedScore: score, pointsAwarded: score / 100, rank: { rank: 1 } },
        });
      }
      expect((await asBob(`/game/${GAME}/rank`)).body).toMatchObject({ rank: 2, score: 7_000, percentile: 50 });
      expect((await asAnn('/leaderboard/global/rank')).body).toMatchObject({ rank: 1, score: 130 });
      for (const url of system.urls) {
        const board = await (await send({ url }, '/leaderboard/global?period=week')).json();
        expect(board).toEqual([
          { rank: 1, wallet: ann.wallet, score: 130 },
          { rank: 2, wallet: bob.wallet, score: 70 },
        ]);
      }

      await eventually(() => {
        const updates = stream.messages
          .filter((m) => m.event === 'score_update')
          .flatMap((m) => m.data.updates as { wallet: string; score: number }[]);
        expect(updates).toEqual(
          expect.arrayContaining([
            expect.objectContaining({ wallet: ann.wallet, score: 9_000 }),
            expect.objectContaining({ wallet: bob.wallet, score: 7_000, pointsAwarded: 70 }),
          ]),
        );
      });
      stream.close();

      expect((await send({ url: system.urls[0] ?? '' }, '/auth/logout', { method: 'POST', headers: { Cookie: ann.cookie } })).status).toBe(200);
      expect((await send({ url: last }, '/me', { headers: { Cookie: ann.cookie } })).status).toBe(401);
      expect((await send({ url: last }, '/me', { headers: { Cookie: bob.cookie } })).status).toBe(200);
      expect(await contradictions({ databaseUrl: system.postgres.url, redisUrl: system.redis.url, redisPrefix: 'coinop' })).toEqual([]);
    } finally {
      await system.stop();
    }
  }, 90_000);
}
