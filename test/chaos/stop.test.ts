import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { GRACE_MS } from '#platform/shutdown.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { eventually, type PatientPlayer, patientPlayer } from '#test/support/areas/player.ts';
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

interface Scored {
  readonly playId: string;
  readonly answered: Promise<{ readonly status: number }>;
}

/** A score whose worker waits for a lock; whatever is stopped is stopped meanwhile, then the lock is given back. */
async function scoreWhile(stop: () => Promise<unknown>): Promise<Scored> {
  const play = await player.ask<{ playId: string }>(`/game/${GAME}/play`, { method: 'POST' });
  const { playId } = play.body;
  await db.query('begin');
  await db.query('select 1 from players where wallet = $1 for update', [player.wallet]);
  const answered = player.ask('/arcade/score', { json: { gameId: GAME, score: 5_000, playId } });
  await eventually(async () => expect((await db.query('select from pg_locks where not granted')).rowCount).toBe(1));
  const stopped = stop();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await db.query('commit');
  await stopped;
  return { playId, answered };
}

/** What Redis may do while a worker is told to stop, and how it comes back. */
const AWAY: readonly (readonly [what: string, leave: () => Promise<() => Promise<void>>])[] = [
  [
    'is down',
    async () => {
      await system.redis.kill();
      return () => system.redis.restart({ empty: false });
    },
  ],
  [
    'is back, empty, before the worker has ended',
    async () => {
      await system.redis.kill();
      const back = new Promise((resolve) => setTimeout(resolve, 200)).then(() => system.redis.restart({ empty: true }));
      return () => back;
    },
  ],
  [
    'does not answer',
    async () => {
      const { pid } = system.redis;
      process.kill(pid, 'SIGSTOP');
      return async () => void process.kill(pid, 'SIGCONT');
    },
  ],
];

test('a worker that is told to stop finishes the scores that it has in hand', async () => {
  const { answered } = await scoreWhile(async () => expect(await system.workers[0]?.stop()).toMatchObject({ code: 0 }));
  expect(await answered).toMatchObject({ status: 200 });
  await system.workers[0]?.start();
}, 30_000);

test.each(AWAY)(
  'a worker that is told to stop while Redis %s commits what it has in hand, and ends in order',
  async (_what, leave) => {
    let comeBack = async () => {};
    const { playId, answered } = await scoreWhile(async () => {
      comeBack = await leave();
      // With any other code it was stopped by force, when its time was up.
      expect(await system.workers[0]?.stop()).toMatchObject({ code: 0 });
    }).finally(() => comeBack());
    expect((await db.query('select from scores where play_id = $1', [playId])).rowCount).toBe(1);
    await system.workers[0]?.start();
    expect(await answered).toMatchObject({ status: 200 });
  },
  90_000,
);

test('an API process that is told to stop answers what it was asked, and ends its streams', async () => {
  const stream = await openEvents({ url: system.urls[0] ?? '' });
  const begun = performance.now();
  const { answered } = await scoreWhile(async () => expect(await system.apis[0]?.stop()).toMatchObject({ code: 0 }));
  expect(await answered).toMatchObject({ status: 200 });
  await stream.ended;
  // In order, not because connections were cut when their time was up.
  expect(performance.now() - begun).toBeLessThan(GRACE_MS - 5_000);
}, 30_000);
