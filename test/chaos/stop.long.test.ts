import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { SHUTDOWN_TIMEOUT_MS } from '#platform/shutdown.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { type PatientPlayer, patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';
import { openEvents } from '#test/support/http/sse.ts';

const GAME = 'stop-game';
let system: System;
let player: PatientPlayer;
let db: pg.Client;

beforeAll(async () => {
  system = await startSystem();
  await registerGame(system.urls[0] ?? '', SYSTEM_ADMIN_TOKEN, GAME);
  player = await patientPlayer(system.urls);
  db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
}, 60_000);

afterAll(async () => {
  await db?.end();
  await system?.stop();
}, 60_000);

interface ScoreInFlight {
  readonly playId: string;
  readonly answered: Promise<{ readonly status: number }>;
}

/** Submits a score whose worker waits for a lock, calls `stop` meanwhile, and releases the lock 500 ms later. */
async function scoreDuring(stop: () => Promise<unknown>): Promise<ScoreInFlight> {
  const play = await player.request<{ playId: string }>(`/game/${GAME}/play`, { method: 'POST' });
  const { playId } = play.body;
  await db.query('begin');
  await db.query('select 1 from players where wallet = $1 for update', [player.wallet]);
  const answered = player.request('/arcade/score', { json: { gameId: GAME, score: 5_000, playId } });
  await retryUntilPass(async () => expect((await db.query('select from pg_locks where not granted')).rowCount).toBe(1));
  const stopped = stop();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await db.query('commit');
  await stopped;
  return { playId, answered };
}

/** Failures of Redis while a worker stops. Each returns a function that restores Redis. */
const REDIS_FAILURES: readonly (readonly [what: string, leave: () => Promise<() => Promise<void>>])[] = [
  [
    'is down',
    async () => {
      await system.redis.kill();
      return () => system.redis.restart({ empty: false });
    },
  ],
  [
    'restarts without its data before the worker has ended',
    async () => {
      await system.redis.kill();
      const back = new Promise((resolve) => setTimeout(resolve, 200)).then(() => system.redis.restart({ empty: true }));
      return () => back;
    },
  ],
  [
    'does not respond',
    async () => {
      const { pid } = system.redis;
      process.kill(pid, 'SIGSTOP');
      return async () => void process.kill(pid, 'SIGCONT');
    },
  ],
];

test('a worker that gets SIGTERM finishes its scores in flight and exits with code 0', async () => {
  const { answered } = await scoreDuring(async () => expect(await system.workers[0]?.stop()).toMatchObject({ code: 0 }));
  expect(await answered).toMatchObject({ status: 200 });
  await system.workers[0]?.start();
}, 30_000);

test.each(REDIS_FAILURES)(
  'a worker that gets SIGTERM while Redis %s commits its scores in flight and exits with code 0',
  async (_what, leave) => {
    let comeBack = async () => {};
    const { playId, answered } = await scoreDuring(async () => {
      comeBack = await leave();
      // Any other code means that the shutdown timed out.
      expect(await system.workers[0]?.stop()).toMatchObject({ code: 0 });
    }).finally(() => comeBack());
    expect((await db.query('select from scores where play_id = $1', [playId])).rowCount).toBe(1);
    await system.workers[0]?.start();
    expect(await answered).toMatchObject({ status: 200 });
  },
  90_000,
);

test('an API process that gets SIGTERM answers its requests in flight and ends its event streams', async () => {
  const stream = await openEvents({ url: system.urls[0] ?? '' });
  const begun = performance.now();
  const { answered } = await scoreDuring(async () => expect(await system.apis[0]?.stop()).toMatchObject({ code: 0 }));
  expect(await answered).toMatchObject({ status: 200 });
  await stream.ended;
  // Connections are closed by force 3 s before the timeout, so an earlier end was a graceful one.
  expect(performance.now() - begun).toBeLessThan(SHUTDOWN_TIMEOUT_MS - 5_000);
}, 30_000);
