import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { type PatientPlayer, patientPlayer, type Receipt, retryUntilPass } from '#test/support/areas/player.ts';
import { contradictions } from '#test/support/invariants.ts';

const GAME = 'chaos-game';
/** Number of runs of each test. bin/soak sets a higher one. */
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 1);

let system: System;
let players: PatientPlayer[];
const confirmed: Receipt[] = [];

beforeAll(async () => {
  system = await startSystem({ apis: 2, workers: 2 });
  await registerGame(system.urls[0] ?? '', SYSTEM_ADMIN_TOKEN, GAME);
  players = await Promise.all(Array.from({ length: 12 }, () => patientPlayer(system.urls)));
}, 120_000);

afterAll(() => system?.stop(), 60_000);

/** Lets every player submit scores before, during and after a fault. */
async function underLoad(fault: () => Promise<void>): Promise<void> {
  let over = false;
  const load = players.map(async (player) => {
    while (!over) confirmed.push(await player.score(GAME, randomInt(10_001)));
  });
  await sleep(400);
  await fault();
  await sleep(400);
  over = true;
  await Promise.all(load);
}

async function expectScoresStoredOnce(): Promise<void> {
  const db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
  try {
    const { rows } = await db.query('select id, points, normalized from scores');
    expect(rows.length).toBe(confirmed.length);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const receipt of confirmed) {
      expect(byId.get(receipt.scoreId)).toMatchObject({ points: receipt.pointsAwarded, normalized: receipt.normalizedScore });
    }
  } finally {
    await db.end();
  }
  const stores = { databaseUrl: system.postgres.url, redisUrl: system.redis.url, redisPrefix: 'coinop' };
  await retryUntilPass(async () => expect(await contradictions(stores)).toEqual([]), 20_000);
}

function expectOnlyRetryableErrors(): void {
  for (const player of players) expect([...player.statuses.keys()].filter((status) => ![0, 200, 201, 503].includes(status))).toEqual([]);
}

for (let round = 1; round <= ROUNDS; round++) {
  test(`every confirmed score is stored once when a worker is killed (round ${round})`, async () => {
    await underLoad(async () => {
      const worker = system.workers[randomInt(2)];
      await worker?.kill();
      await worker?.start();
    });
    await expectScoresStoredOnce();
    expectOnlyRetryableErrors();
  }, 120_000);

  test(`every confirmed score is stored once when both workers are killed at the same time (round ${round})`, async () => {
    await underLoad(async () => {
      await Promise.all(system.workers.map((worker) => worker.kill()));
      await Promise.all(system.workers.map((worker) => worker.start()));
    });
    await expectScoresStoredOnce();
    expectOnlyRetryableErrors();
  }, 120_000);

  test(`every confirmed score is stored once when an API process is killed (round ${round})`, async () => {
    await underLoad(async () => {
      const api = system.apis[randomInt(2)];
      await api?.kill();
      await api?.start();
    });
    await expectScoresStoredOnce();
    expectOnlyRetryableErrors();
  }, 120_000);

  test(`every confirmed score is stored once and sessions stay valid when Redis loses its data (round ${round})`, async () => {
    await underLoad(() => system.redis.restart({ empty: true }));
    await expectScoresStoredOnce();
    expectOnlyRetryableErrors();
  }, 120_000);
}
