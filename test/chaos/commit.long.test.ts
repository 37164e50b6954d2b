import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, startSystem } from '#dev/stack/system.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';
import { contradictions } from '#test/support/invariants.ts';

const GAME = 'commit-game';

test('a score whose worker is killed between commit and reply is stored once, confirmed to the client and shown on the boards', async () => {
  const system = await startSystem();
  const db = new pg.Client({ connectionString: system.postgres.url });
  const redis = new Redis(system.redis.url);
  try {
    await db.connect();
    await registerGame(system.urls[0] ?? '', SYSTEM_ADMIN_TOKEN, GAME);
    const player = await patientPlayer(system.urls);
    await player.score(GAME, 1_000);

    // The worker's transaction waits for this lock. Redis is paused before the lock is released, so the worker cannot reply.
    await db.query('begin');
    await db.query('select 1 from players where wallet = $1 for update', [player.wallet]);
    const answered = player.score(GAME, 7_000);
    await retryUntilPass(async () => {
      const waiting = await redis.lrange('{coinop:scores}:scores:active', 0, -1);
      expect(waiting).toHaveLength(1);
    });
    await sleep(100);
    await redis.call('CLIENT', 'PAUSE', '4000', 'ALL');
    await db.query('commit');
    const scores = async () => (await db.query('select normalized, points from scores where normalized = 7000')).rows;
    await retryUntilPass(async () => expect(await scores()).toHaveLength(1), 900);
    await system.workers[0]?.kill();
    await system.workers[0]?.start();

    expect(await answered).toMatchObject({ status: 'accepted', normalizedScore: 7_000, pointsAwarded: 70, personalBest: true });
    expect(await scores()).toEqual([{ normalized: 7_000, points: 70 }]);
    const stores = { databaseUrl: system.postgres.url, redisUrl: system.redis.url, redisPrefix: 'coinop' };
    await retryUntilPass(async () => expect(await contradictions(stores)).toEqual([]), 20_000);
  } finally {
    redis.disconnect();
    await db.end();
    await system.stop();
  }
}, 90_000);
