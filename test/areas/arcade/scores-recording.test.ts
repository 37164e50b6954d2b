import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { banWallet, findGame, finishBan, type Game, processScores, unbanWallet } from '#areas/arcade';
import { decideScore, voidScore } from '#areas/arcade/scores/decide.ts';
import { restoreScore } from '#areas/arcade/scores/restore.ts';
import { ensurePlayer, lockPlayers } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { ignoredFailures } from '#test/support/failing-statements.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import { createWallet } from '#test/support/wallet.ts';
import { recordScores } from '#workers/record-scores.ts';

const DAILY_POINTS = 130;
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  const free = { ...TEST_GAME, verification: 'none' };
  await registerGame(t.url, ADMIN_TOKEN, 'free-game', free);
  await registerGame(t.url, ADMIN_TOKEN, 'capped-game', { ...free, caps: { ...TEST_GAME.caps, dailyPoints: DAILY_POINTS } });
  // Holds every score above 1.
  await registerGame(t.url, ADMIN_TOKEN, 'strict-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 1 } });
});
afterAll(() => t.close());

/** Creates a wallet that signed in. */
async function newPlayer(): Promise<string> {
  const wallet = createWallet().address;
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  return wallet;
}

const submissionOf = (wallet: string, gameId: string, score: number): Submission => ({
  ...{ id: newId(), wallet, gameId, score, playId: null, durationMs: null, battleId: null, signature: null, replay: null, idempotencyKey: null },
  ...{ bodyHash: '0'.repeat(64), at: t.clock.now().toISOString() },
});

/** Records one score in a transaction of its own. @returns its receipt */
async function record(wallet: string, gameId: string, score: number) {
  const [result] = await processScores(t.app, [submissionOf(wallet, gameId, score)]);
  if (result?.outcome.status !== 200) throw new Error(`the score was refused: ${JSON.stringify(result)}`);
  return result.outcome.receipt;
}

/** Records a held score. @returns its id */
async function hold(wallet: string, score: number): Promise<string> {
  const playId = newId();
  await sql(t.app, `insert into plays (id, wallet, game_id, started_at) values ($1, $2, 'strict-game', app_now())`, [playId, wallet]);
  const submission = { ...submissionOf(wallet, 'strict-game', score), playId };
  const [result] = await processScores(t.app, [submission]);
  expect(result?.outcome).toMatchObject({ status: 200, receipt: { status: 'held' } });
  return submission.id;
}

/** Reads the status of a score, and whether it is a personal best. */
async function stateOf(id: string) {
  const [row] = await sql<{ status: string; best: boolean }>(t.app, 'select status, personal_best as best from scores where id = $1', [id]);
  return [row?.status, row?.best];
}

async function strictGame(): Promise<Game> {
  const game = await findGame(t.app, 'strict-game');
  if (!game) throw new Error('the game is missing');
  return game;
}
const BY = { by: 'test', reason: 'a test' };

test('a score that equals the wallet’s best score is not a personal best', async () => {
  const wallet = await newPlayer();
  expect(await record(wallet, 'free-game', 5_000)).toMatchObject({ personalBest: true });
  expect(await record(wallet, 'free-game', 5_000)).toMatchObject({ personalBest: false });
  expect(await record(wallet, 'free-game', 5_001)).toMatchObject({ personalBest: true });
  expect(await record(await newPlayer(), 'free-game', 0)).toMatchObject({ personalBest: false });
});

test('a held score that equals the wallet’s best score is not a personal best when it is accepted', async () => {
  const wallet = await newPlayer();
  const game = await strictGame();
  const [first, equal, better] = [await hold(wallet, 4_000), await hold(wallet, 4_000), await hold(wallet, 4_001)];
  for (const id of [first, equal, better]) await decideScore(t.app, game, id, 'accept', BY);
  expect(await Promise.all([first, equal, better].map(stateOf))).toEqual([
    ['accepted', true],
    ['accepted', false],
    ['accepted', true],
  ]);
});

test('fifty scores of one wallet in fifty concurrent transactions do not exceed its caps', async () => {
  const wallet = await newPlayer();
  const receipts = await Promise.all(Array.from({ length: 50 }, () => record(wallet, 'capped-game', 1_000)));
  expect(receipts.reduce((sum, { pointsAwarded }) => sum + pointsAwarded, 0)).toBe(DAILY_POINTS);
  expect(receipts.filter(({ personalBest }) => personalBest)).toHaveLength(1);
});

test('the job that records scores ends after their commit', async () => {
  const wallet = await newPlayer();
  const submission = submissionOf(wallet, 'free-game', 1_234);
  const commit = await holdTransaction(t.app, (tx) => lockPlayers(tx, [wallet]));
  const recording = recordScores(t.app, { channel: 'a-channel', submissions: [submission] });
  await untilBlocked(t.app, recording);
  await commit();
  await recording;
  expect(await stateOf(submission.id)).toEqual(['accepted', true]);
});

test('the job that records scores fails when they cannot be stored, so that it is repeated', async () => {
  const submission = { ...submissionOf(await newPlayer(), 'free-game', 1_234), bodyHash: 'not hex' };
  await expect(recordScores(t.app, { channel: 'a-channel', submissions: [submission] })).rejects.toThrow('hexadecimal');
});

test('recording, accepting, rejecting, voiding, restoring and banning fail when one of their statements fails', async () => {
  const [wallet, banned] = [await newPlayer(), await newPlayer()];
  const game = await strictGame();
  const [accepted, rejected, ofBanned] = [await hold(wallet, 5_000), await hold(wallet, 6_000), await hold(banned, 5_000)];
  const submission = submissionOf(wallet, 'free-game', 100);
  const operations: ((app: App) => Promise<unknown>)[] = [
    (app) => processScores(app, [submission]),
    (app) => decideScore(app, game, accepted, 'accept', BY),
    (app) => decideScore(app, game, rejected, 'reject', BY),
    (app) => decideScore(app, game, ofBanned, 'accept', BY),
    (app) => voidScore(app, accepted, BY),
    (app) => restoreScore(app, game, accepted, BY),
    (app) => voidScore(app, accepted, BY),
    (app) => banWallet(app, banned, 'a test'),
    (app) => finishBan(app, banned),
    (app) => unbanWallet(app, banned),
  ];
  for (const operation of operations) expect(await ignoredFailures(t.app, operation)).toEqual([]);
  expect(await Promise.all([submission.id, accepted, rejected, ofBanned].map(stateOf))).toEqual([
    ['accepted', true],
    ['voided', true],
    ['rejected', false],
    ['accepted', true],
  ]);
});
