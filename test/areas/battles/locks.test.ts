import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { appendScoreActivities } from '#areas/arcade/scores/activities.ts';
import { advanceBattles } from '#areas/battles';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import * as battles from '#test/support/areas/battles.ts';
import { advanceClock, GAME } from '#test/support/areas/battles.ts';
import { sql } from '#test/support/areas/boards.ts';
import { expectToWait, holdTransaction } from '#test/support/locks.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await battles.registerGames(t);
});
afterAll(() => t.close());

/** Starts a battle of two wallets and records one score for it. The battle is over, but not finished. */
async function endedBattle(): Promise<[id: string, a: string, b: string]> {
  const [id, a, b] = await battles.startRunningBattle(t.app, 2);
  await battles.score(t.app, a, id, 300);
  await advanceClock(t, 301);
  return [id, a, b];
}
/** Returns the work of appending the activity of a score. */
const append = (wallet: string, battleId: string) => (app: App) =>
  app.tx((tx) => appendScoreActivities(tx, 'score', [{ id: newId(), wallet, gameId: GAME, normalized: 900, battleId }]));

test('the consumer waits for a transaction that finishes a battle, and then counts no score for it', async () => {
  const [id] = await endedBattle();
  await expectToWait(t.app, 'decide_battles', advanceBattles, (app) => battles.consumeBattles(app));
  expect((await battles.battle(t.app, id)).status).toBe('finished');
  expect(await battles.readSeats(t.app, id)).toEqual([
    [300, 1, 1],
    [null, 0, null],
  ]);
});

test('a score of a battle that is being finished waits, so its time is after the finish', async () => {
  const [id, , b] = await endedBattle();
  await expectToWait(t.app, 'take_ended_battles', advanceBattles, append(b, id));
  const [times] = await sql<{ later: boolean }>(
    t.app,
    `select a.at > b.ended_at as later from activities a join battles b on b.id = a.battle_id where b.id = $1 and a.amount = 900`,
    [id],
  );
  expect(times).toEqual({ later: true });
});

test('a battle is not finished while a transaction with one of its scores is open, and other battles are', async () => {
  const [id, a, b] = await battles.startRunningBattle(t.app, 2);
  const [other] = await battles.startRunningBattle(t.app, 2);
  const commit = await holdTransaction(t.app, (tx) =>
    Promise.all([a, b].map((wallet) => appendScoreActivities(tx, 'score', [{ id: newId(), wallet, gameId: GAME, normalized: 900, battleId: id }]))),
  );
  await advanceClock(t, 301);
  await advanceBattles(t.app).finally(commit);
  expect([(await battles.battle(t.app, id)).status, (await battles.battle(t.app, other)).status]).toEqual(['running', 'finished']);
  await advanceBattles(t.app);
  expect((await battles.battle(t.app, id)).status).toBe('finished');
});

test('two transactions with scores of one battle do not wait for each other', async () => {
  const [id, a, b] = await battles.startRunningBattle(t.app, 2);
  const commit = await holdTransaction(t.app, (tx) =>
    appendScoreActivities(tx, 'score', [{ id: newId(), wallet: a, gameId: GAME, normalized: 900, battleId: id }]),
  );
  const second = t.app.tx(async (tx) => {
    await tx.query({ text: `set local lock_timeout = '2s'` });
    await appendScoreActivities(tx, 'score', [{ id: newId(), wallet: b, gameId: GAME, normalized: 900, battleId: id }]);
  });
  await second.finally(commit);
});
