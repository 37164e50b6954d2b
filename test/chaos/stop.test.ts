import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '../../stack/system.ts';
import { registerGame } from '../support/arcade.ts';
import { eventually } from '../support/player.ts';
import { openEvents } from '../support/sse.ts';
import { type SignedIn, signIn } from '../support/wallet.ts';

const GAME = 'stop-game';
let system: System;
let player: SignedIn;
let db: pg.Client;
let redis: Redis;

beforeAll(async () => {
  system = await startSystem();
  await registerGame(system.urls[0] ?? '', SYSTEM_ADMIN_TOKEN, GAME);
  player = await signIn({ url: system.urls[0] ?? '' });
  db = new pg.Client({ connectionString: system.postgres.url });
  redis = new Redis(system.redis.url);
  await db.connect();
}, 60_000);

afterAll(async () => {
  redis?.disconnect();
  await db?.end();
  await system?.stop();
}, 60_000);

/** A score whose worker waits for a lock; whatever is stopped is stopped meanwhile, then the lock is given back. */
async function scoreWhile(stop: () => Promise<void>): Promise<number> {
  const play = await player.fetch(`/game/${GAME}/play`, { method: 'POST' });
  const { playId } = (await play.json()) as { playId: string };
  await db.query('begin');
  await db.query('select 1 from players where wallet = $1 for update', [player.wallet]);
  const answered = player.fetch('/arcade/score', { json: { gameId: GAME, score: 5_000, playId } });
  await eventually(async () => expect(await redis.lrange('{coinop:scores}:scores:active', 0, -1)).toHaveLength(1));
  const stopped = stop();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await db.query('commit');
  await stopped;
  return (await answered).status;
}

test('a worker that is told to stop finishes the scores that it has in hand', async () => {
  expect(await scoreWhile(async () => system.workers[0]?.stop())).toBe(200);
  await system.workers[0]?.start();
}, 30_000);

test('an API process that is told to stop answers what it was asked, and ends its streams', async () => {
  const stream = await openEvents({ url: system.urls[0] ?? '' });
  const begun = performance.now();
  expect(await scoreWhile(async () => system.apis[0]?.stop())).toBe(200);
  await stream.ended;
  // In order, not because its time was up.
  expect(performance.now() - begun).toBeLessThan(5_000);
}, 30_000);
