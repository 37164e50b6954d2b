import { expect, test } from '@jest/globals';
import { SYSTEM_ADMIN_TOKEN, startSystem } from '#dev/stack/system.ts';
import { type Client, createClient, type EventOf, followEvents, ok, signIn } from '#packages/client/src/index.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { contradictions } from '#test/support/invariants.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAME = 'e2e-game';

/** Signs a wallet in at the first API process. `anywhere` returns a client of the next API process, in turn. */
async function playerOf(urls: readonly string[]): Promise<{ wallet: string; anywhere: () => Client }> {
  const { address, sign } = createWallet();
  const first = createClient({ baseUrl: urls[0] ?? '' });
  await signIn(first, { address, signMessage: sign });
  const clients = urls.map((baseUrl) => createClient({ baseUrl, cookie: first.cookie }));
  let turn = 0;
  return { wallet: address, anywhere: () => clients[turn++ % clients.length] ?? first };
}

for (const processes of [1, 2]) {
  test(`wallets sign in, play, submit scores, get ranks and receive events with ${processes} API and ${processes} worker process(es)`, async () => {
    const system = await startSystem({ apis: processes, workers: processes });
    const stop = new AbortController();
    try {
      await registerGame(system.urls[0] ?? '', SYSTEM_ADMIN_TOKEN, GAME);
      const ann = await playerOf(system.urls);
      const bob = await playerOf([...system.urls].reverse());
      const heard: EventOf<'gameplay'>[] = [];
      const { promise: connected, resolve: connect } = Promise.withResolvers<void>();
      const events = followEvents(bob.anywhere(), {
        categories: ['gameplay'],
        signal: stop.signal,
        onConnection: (isOpen) => isOpen && connect(),
        onReset: () => Promise.reject(new Error('events were missed')),
        onEvent: (event) => void heard.push(event),
      });
      await Promise.race([connected, events]);

      for (const [{ anywhere }, score] of [
        [ann, 4_000],
        [bob, 7_000],
        [ann, 9_000],
      ] as const) {
        const { body: play } = await ok(anywhere().post('/game/{id}/play', { params: { id: GAME } }));
        const receipt = await anywhere().post('/arcade/score', { body: { gameId: GAME, score, playId: play.playId } });
        expect(receipt).toMatchObject({
          status: 200,
          body: { status: 'accepted', normalizedScore: score, pointsAwarded: score / 100, rank: { rank: 1 } },
        });
      }
      const inGame = await ok(bob.anywhere().get('/game/{id}/rank', { params: { id: GAME } }));
      expect(inGame.body).toMatchObject({ rank: 2, score: 7_000, percentile: 50 });
      expect((await ok(ann.anywhere().get('/leaderboard/global/rank'))).body).toMatchObject({ rank: 1, score: 130 });
      for (const baseUrl of system.urls) {
        const board = await ok(createClient({ baseUrl }).get('/leaderboard/global', { query: { period: 'week' } }));
        expect(board.body).toEqual([
          { rank: 1, wallet: ann.wallet, name: null, score: 130, rawScore: null, at: null },
          { rank: 2, wallet: bob.wallet, name: null, score: 70, rawScore: null, at: null },
        ]);
      }

      await retryUntilPass(() => {
        const updates = heard.flatMap((event) => (event.type === 'score_update' ? event.updates : []));
        expect(updates.findLast(({ wallet }) => wallet === ann.wallet)).toMatchObject({ score: 9_000, rank: 1 });
        expect(updates.findLast(({ wallet }) => wallet === bob.wallet)).toMatchObject({ score: 7_000 });
        const own = heard.filter((event) => event.type === 'score_recorded');
        expect(own).toMatchObject([{ normalizedScore: 7_000, pointsAwarded: 70, rank: { score: 7_000 } }]);
      });
      stop.abort();
      await events;

      await ok(ann.anywhere().post('/auth/logout'));
      expect((await ann.anywhere().get('/me')).status).toBe(401);
      expect((await bob.anywhere().get('/me')).status).toBe(200);
      expect(await contradictions({ databaseUrl: system.postgres.url, redisUrl: system.redis.url, redisPrefix: 'coinop' })).toEqual([]);
    } finally {
      stop.abort();
      await system.stop();
    }
  }, 90_000);
}
