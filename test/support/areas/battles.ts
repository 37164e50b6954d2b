import { processScores } from '#areas/arcade';
import type { AdmitScores } from '#areas/arcade/scores/activities.ts';
import type { ScoreOutcome } from '#areas/arcade/scores/schemas.ts';
import { admitScores, battleConsumer } from '#areas/battles';
import { type Battle, readBattle } from '#areas/battles/rows.ts';
import { BattleTerms } from '#areas/battles/schemas.ts';
import { createBattle, joinBattle, startBattle } from '#areas/battles/seats.ts';
import { type Consumer, consumeActivities, ensurePlayer } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { ADMIN_TOKEN, type TestApp } from '../app.ts';
import { NEW_ID } from '../database.ts';
import { registerGame, TEST_GAME } from './arcade.ts';
import { sql } from './boards.ts';
import { randomWallet } from './epochs.ts';

/** Ids of test games: two without verification, and one that holds scores above 100 per second. */
export const GAME = 'duel';
export const OTHER_GAME = 'other-duel';
export const STRICT_GAME = 'strict-duel';

export async function registerGames(t: TestApp): Promise<void> {
  await registerGame(t.url, ADMIN_TOKEN, GAME, { ...TEST_GAME, verification: 'none' });
  await registerGame(t.url, ADMIN_TOKEN, OTHER_GAME, { ...TEST_GAME, verification: 'none' });
  await registerGame(t.url, ADMIN_TOKEN, STRICT_GAME, { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 100 } });
}

/** Creates wallets with their rows, like sign-in. */
export async function createPlayers(app: App, n: number): Promise<string[]> {
  const wallets = Array.from({ length: n }, randomWallet);
  for (const wallet of wallets) await app.tx((tx) => ensurePlayer(tx, wallet));
  return wallets;
}

/** Opens a battle for the first wallet and joins the others; with all seats taken it starts. @returns id of the battle */
export async function openBattle(app: App, wallets: readonly string[], terms: Partial<BattleTerms> = {}): Promise<string> {
  const [creator = '', ...others] = wallets;
  const { id } = await app.tx((tx) =>
    createBattle(tx, creator, BattleTerms.parse({ gameId: GAME, maxPlayers: Math.max(2, wallets.length), ...terms })),
  );
  for (const wallet of others) await app.tx((tx) => joinBattle(tx, wallet, id));
  return id;
}

/** Starts a battle with new wallets. @returns its id and the first three wallets */
export async function startRunningBattle(
  app: App,
  n: number,
  terms: Partial<BattleTerms> = {},
): Promise<[id: string, a: string, b: string, c: string]> {
  const wallets = await createPlayers(app, n);
  const [a = '', b = '', c = ''] = wallets;
  return [await openBattle(app, wallets, terms), a, b, c];
}

export const joined = (app: App, wallet: string, id: string) => app.tx((tx) => joinBattle(tx, wallet, id));
export const started = (app: App, wallet: string, id: string) => app.tx((tx) => startBattle(tx, wallet, id));

export async function battle(app: App, id: string): Promise<Battle> {
  const found = await readBattle(app.db, id);
  if (!found) throw new Error(`battle ${id} does not exist`);
  return found;
}

/** Reads the seats of a battle: score, number of scores, place. */
export async function readSeats(app: App, id: string): Promise<(number | null)[][]> {
  return (await battle(app, id)).participants.map(({ score, scores, place }) => [score, scores, place]);
}

/** Returns a submission with defaults for the fields that a test does not set. */
export const submission = (app: App, s: Pick<Submission, 'wallet' | 'score'> & Partial<Submission>): Submission => ({
  ...{ id: newId(), gameId: GAME, playId: null, durationMs: null, battleId: null, signature: null, replay: null, idempotencyKey: null },
  ...{ at: app.clock.now().toISOString(), bodyHash: '0'.repeat(64) },
  ...s,
});

/** Records submissions like a worker. @returns the outcome of the first submission */
export async function submit(app: App, submissions: readonly Submission[], admit: AdmitScores = admitScores): Promise<ScoreOutcome> {
  const [first] = await processScores(app, submissions, admit);
  if (!first) throw new Error('there was no submission');
  return first.outcome;
}

/** Records a score for a battle. @returns id of the score */
export async function score(app: App, wallet: string, battleId: string, value: number, more: Partial<Submission> = {}): Promise<string> {
  const outcome = await submit(app, [submission(app, { wallet, battleId, score: value, ...more })]);
  if (outcome.status !== 200) throw new Error(`a score was refused: ${outcome.error}`);
  return outcome.receipt.scoreId;
}

/** Inserts a play of STRICT_GAME that began `ageSec` seconds ago. @returns id of the play */
export async function insertPlay(app: App, wallet: string, ageSec: number): Promise<string> {
  const [play] = await sql<{ id: string }>(
    app,
    `insert into plays (id, wallet, game_id, started_at) values (${NEW_ID}, $1, $2, app_now() - make_interval(secs => $3)) returning id`,
    [wallet, STRICT_GAME, ageSec],
  );
  return play?.id ?? '';
}

/** Records a score with a play of one second in STRICT_GAME, which holds scores above 100 per second. */
export async function tryScore(app: App, wallet: string, battleId: string, value: number): Promise<ScoreOutcome> {
  const playId = await insertPlay(app, wallet, 1);
  return await submit(app, [submission(app, { wallet, battleId, score: value, gameId: STRICT_GAME, playId })]);
}

const idle = (name: 'referrals' | 'quests', bit: 1 | 2): Consumer => ({ name, bit, consume: async () => [] });

/** Runs the consumer of battles until no activities are pending. */
export async function consumeBattles(app: App, consumer: Consumer = battleConsumer): Promise<void> {
  while (await consumeActivities(app, [idle('referrals', 1), idle('quests', 2), consumer]));
}

/** Advances the test clock. */
export const advanceClock = (t: TestApp, seconds: number) => t.clock.set(new Date(t.clock.now().getTime() + seconds * 1_000));

/** Reads the events of a battle from the outbox, oldest first. */
export async function readEvents(
  app: App,
  battleId: string,
  types: readonly string[] = ['battle_started', 'battle_result'],
): Promise<{ type: string; payload: Record<string, unknown> }[]> {
  return await sql(app, `select type, payload from outbox where type = any($2::text[]) and payload ->> 'battleId' = $1 order by id`, [
    battleId,
    types,
  ]);
}

/** Returns a copy of the application whose transactions fail before their commit, like in a killed process. */
export function failCommits(app: App): App {
  return {
    ...app,
    tx: (work) =>
      app.tx(async (tx) => {
        await work(tx);
        throw new Error('killed');
      }),
  };
}
