import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, startSystem } from '#dev/stack/system.ts';
import { writeInputLog } from '#lib/replay/input-log.ts';
import { EMPTY_BLOCK, OP } from '#lib/replay/instructions.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { patientPlayer, type Receipt, retryUntilPass } from '#test/support/areas/player.ts';
import { send } from '#test/support/wallet.ts';
import { buildModule, code } from '#test/support/wasm.ts';

const GAME = 'long-game';
/** A tick counts down from 50 million, which takes a few hundred milliseconds. */
const COUNT = [OP.localGet, 1, ...code.i32(1), OP.i32Sub, OP.localTee, 1];
const TICK = [...code.i32(50_000_000), OP.localSet, 1, OP.loop, EMPTY_BLOCK, ...COUNT, OP.brIf, 0, OP.end, ...code.i32(0)];

test('a score whose worker is killed while it runs the replay is recorded once by the next worker', async () => {
  const system = await startSystem();
  const db = new pg.Client({ connectionString: system.postgres.url });
  const redis = new Redis(system.redis.url);
  const [url = ''] = system.urls;
  try {
    await db.connect();
    await registerGame(url, SYSTEM_ADMIN_TOKEN, GAME);
    const uploaded = await send({ url }, `/admin/games/${GAME}/simulation?ticksPerSecond=60&maxTicks=100&instructionsPerTick=1000000`, {
      method: 'PUT',
      body: buildModule({ tick: TICK, locals: [0x7f] }),
      headers: { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, 'Content-Type': 'application/wasm' },
    });
    const { hash } = (await uploaded.json()) as { hash: string };
    await registerGame(url, SYSTEM_ADMIN_TOKEN, GAME, { ...TEST_GAME, verification: 'replay', simulation: hash });
    const player = await patientPlayer(system.urls);
    const { body } = await player.request<{ playId: string }>(`/game/${GAME}/play`, { method: 'POST' });
    const replay = Buffer.from(writeInputLog([0])).toString('base64');
    const answered = player.request<Receipt>('/arcade/score', { json: { gameId: GAME, playId: body.playId, score: 7, replay } });
    await retryUntilPass(async () => expect(await redis.lrange('{coinop:scores}:scores:active', 0, -1)).toHaveLength(1));
    await sleep(50);
    await system.workers[0]?.kill();
    expect((await db.query('select 1 from scores')).rows).toEqual([]);
    await system.workers[0]?.start();

    expect(await answered).toMatchObject({ status: 200, body: { status: 'accepted' } });
    expect((await db.query('select s.score::int, r.play_id from scores s join score_replays r on r.score_id = s.id')).rows).toEqual([
      { score: 7, play_id: body.playId },
    ]);
  } finally {
    redis.disconnect();
    await db.end();
    await system.stop();
  }
}, 90_000);
