import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findGame, processScores } from '#areas/arcade';
import { readTops } from '#areas/arcade/scores/review.ts';
import { readPlays } from '#areas/arcade/scores/rows.ts';
import { limitUnverifiedScores } from '#areas/arcade/scores/unverified-limit.ts';
import { COUNTER_SHARDS, ensurePlayer, gameBoard, lockPlayers, rebuildBoard } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import { newId } from '#lib/ids.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { LENIENT, registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { createGame, scoreBest, sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { DAILY_POINTS_CAP: '250', UNVERIFIED_SCORES_PER_MINUTE: '2' } });
  const free = { ...TEST_GAME, verification: 'none' };
  const withCap = (dailyPoints: number) => ({ ...free, caps: { ...TEST_GAME.caps, dailyPoints } });
  const review = { ...LENIENT.review, repeatedScores: 4, perfectFrom: 9_000, overlapSec: 0 };
  const definitions = {
    ...{
      'free-game': free,
      'other-game': free,
      'counted-game': free,
      'capped-game': withCap(130),
      'zero-game': withCap(0),
      'idle-game': { ...free, pointsPer10000: 0 },
    },
    ...{ 'watched-game': { ...free, review }, 'watched-too': { ...free, review } },
    ...{ 'queue-game': { ...free, review: { ...review, maxHeldPerWallet: 1 } }, 'played-game': TEST_GAME },
    'ranked-game': { ...TEST_GAME, review: { ...LENIENT.review, newcomerScores: 5 } },
  };
  for (const [id, definition] of Object.entries(definitions)) await registerGame(t.url, ADMIN_TOKEN, id, definition);
});
afterAll(() => t.close());

async function newPlayer(): Promise<string> {
  const wallet = createWallet().address;
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  return wallet;
}

const submissionOf = (wallet: string, gameId: string, score: number, more: Partial<Submission> = {}): Submission => ({
  ...{ id: newId(), wallet, gameId, score, playId: null, durationMs: null, battleId: null, signature: null, replay: null, idempotencyKey: null },
  ...{ bodyHash: '0'.repeat(64), at: t.clock.now().toISOString(), ...more },
});

/** Records submissions in one transaction. @returns the receipt of each, or its error */
const submit = async (...submissions: Submission[]) =>
  (await processScores(t.app, submissions)).map(({ outcome }) => (outcome.status === 200 ? outcome.receipt : outcome));
const statusesOf = async (...submissions: Submission[]) => (await submit(...submissions)).map(({ status }) => status);

async function insertPlay(wallet: string, gameId: string, mode = 'regular'): Promise<string> {
  const playId = newId();
  await sql(t.app, `insert into plays (id, wallet, game_id, mode, started_at) values ($1, $2, $3, $4, app_now())`, [playId, wallet, gameId, mode]);
  return playId;
}

/** Reads the scores and points that count for a wallet in a game. */
async function tallyOf(wallet: string, gameId: string) {
  const player = await t.app.tx(async (tx) => (await lockPlayers(tx, [wallet])).get(wallet));
  return player?.tally.regular?.[gameId];
}

test('a score without points says why', async () => {
  const wallet = await newPlayer();
  const told = async (gameId: string, score: number) => {
    const [receipt] = await submit(submissionOf(wallet, gameId, score));
    return receipt && 'scoreId' in receipt ? [receipt.pointsAwarded, receipt.noPointsReason] : receipt;
  };
  expect(await told('idle-game', 10_000)).toEqual([0, 'game-earns-nothing']);
  expect(await told('zero-game', 10_000)).toEqual([0, 'game-earns-nothing']);
  expect(await told('free-game', 99)).toEqual([0, 'low-score']);
  expect(await told('capped-game', 10_000)).toEqual([100, null]);
  expect(await told('capped-game', 10_000)).toEqual([30, null]);
  expect(await told('capped-game', 10_000)).toEqual([0, 'game-cap']);
  expect(await told('free-game', 10_000)).toEqual([100, null]);
  expect(await told('free-game', 10_000)).toEqual([20, null]);
  expect(await told('free-game', 10_000)).toEqual([0, 'daily-cap']);
  expect(await told('capped-game', 10_000)).toEqual([0, 'daily-cap']);
});

test('accepted scores and their points count in the tally of the wallet, and held scores do not', async () => {
  const wallet = await newPlayer();
  expect(await statusesOf(submissionOf(wallet, 'watched-game', 3_000), submissionOf(wallet, 'watched-game', 9_000))).toEqual(['accepted', 'held']);
  expect(await tallyOf(wallet, 'watched-game')).toEqual({ scores: 1, points: 30 });
});

test('the plays, players and scores of a game are counted once', async () => {
  const gameId = 'counted-game';
  const [first, second, beta] = [await newPlayer(), await newPlayer(), await newPlayer()];
  await sql(t.app, `update players set mode = 'beta' where wallet = $1`, [beta]);
  const counters = async () => {
    const sums = 'sum(plays)::int as plays, sum(players)::int as players, sum(scores)::int as scores, sum(score_sum)::int as sum';
    return (await sql(t.app, `select ${sums} from game_counters where game_id = $1`, [gameId]))[0];
  };
  await submit(submissionOf(first, gameId, 100));
  expect(await counters()).toEqual({ plays: 1, players: 1, scores: 1, sum: 100 });
  for (const score of [200, 300]) await submit(submissionOf(first, gameId, score), submissionOf(second, gameId, 1_000 + score));
  expect(await counters()).toEqual({ plays: 5, players: 2, scores: 5, sum: 3_100 });
  await submit(submissionOf(beta, gameId, 500));
  // The start of a play in regular mode is counted when the play starts.
  await submit(submissionOf(second, gameId, 50, { playId: await insertPlay(second, gameId) }));
  expect(await counters()).toEqual({ plays: 5, players: 2, scores: 6, sum: 3_150 });
  await submit(submissionOf(second, gameId, 50, { playId: await insertPlay(second, gameId, 'beta') }));
  expect(await counters()).toEqual({ plays: 6, players: 2, scores: 7, sum: 3_200 });
  // Each transaction adds to one row of several, so some of these transactions add to the same row.
  for (let i = 0; i <= COUNTER_SHARDS; i++) await submit(submissionOf(first, gameId, 10));
  const more = COUNTER_SHARDS + 1;
  expect(await counters()).toEqual({ plays: 6 + more, players: 2, scores: 7 + more, sum: 3_200 + 10 * more });
});

test('a score is accepted right after its game was registered by another process', async () => {
  const wallet = await newPlayer();
  expect(await findGame(t.app, 'new-game')).toBeNull();
  await createGame(t.app, 'new-game');
  expect(await statusesOf(submissionOf(wallet, 'new-game', 1))).toEqual(['accepted']);
});

test('refused submissions do not affect the other submissions of their batch', async () => {
  const wallet = await newPlayer();
  const [unknown, good, tooHigh] = await submit(
    submissionOf(wallet, 'no-such-game', 1),
    submissionOf(wallet, 'free-game', 700),
    submissionOf(wallet, 'free-game', 10_001),
  );
  expect(unknown).toEqual({ status: 404, error: 'gameId must be a game of this arcade' });
  expect(good).toMatchObject({ status: 'accepted', pointsAwarded: 7 });
  expect(tooHigh).toMatchObject({ status: 400 });
});

test('a repeated submission, play or Idempotency-Key gets the stored score, in the same batch and later', async () => {
  const [wallet, other] = [await newPlayer(), await newPlayer()];
  const play = await insertPlay(wallet, 'played-game');
  const submissions = [
    submissionOf(wallet, 'free-game', 100),
    submissionOf(wallet, 'free-game', 200, { idempotencyKey: 'a key' }),
    submissionOf(wallet, 'played-game', 300, { playId: play }),
  ];
  const repeats = submissions.map((submission, i) => (i === 0 ? submission : { ...submission, id: newId() }));
  const stored = submissions.map(({ id, score }) => expect.objectContaining({ scoreId: id, normalizedScore: score }));
  expect(await submit(...submissions, ...repeats)).toEqual([...stored, ...stored]);
  expect(await submit(...repeats)).toEqual(stored);
  expect(await submit(...repeats.map((repeat) => ({ ...repeat, bodyHash: '1'.repeat(64) })).slice(1))).toEqual([
    { status: 409, error: 'Idempotency-Key was used before with another score' },
    { status: 409, error: 'playId was used before with another score' },
  ]);
  const ofOther = repeats.map((repeat) => ({ ...repeat, id: newId(), wallet: other }));
  expect(await submit(...ofOther)).toMatchObject([
    { status: 'accepted', scoreId: ofOther[0]?.id },
    { status: 'accepted', scoreId: ofOther[1]?.id },
    { status: 400, error: 'playId must name a play that you started in this game' },
  ]);
});

test('equal scores of a wallet in a game are counted in one batch, and since the day before', async () => {
  const [wallet, other] = [await newPlayer(), await newPlayer()];
  const equal = (who = wallet, gameId = 'watched-game', score = 77) => submissionOf(who, gameId, score);
  const others = [
    equal(other),
    equal(other),
    equal(other),
    equal(wallet, 'watched-too'),
    equal(wallet, 'watched-too'),
    equal(wallet, 'watched-game', 78),
  ];
  expect(await statusesOf(...others, equal(), equal(), equal(), equal())).toEqual([
    ...others.map(() => 'accepted'),
    ...Array(3).fill('accepted'),
    'held',
  ]);
  const nextDay = () => t.clock.set(new Date(t.clock.now().getTime() + 86_400_000));
  await nextDay();
  expect(await statusesOf(equal(), equal(other))).toEqual(['held', 'held']);
  await nextDay();
  await nextDay();
  expect(await statusesOf(equal(), equal(other))).toEqual(['accepted', 'accepted']);
});

test('a wallet has at most the configured number of held scores, in one batch and later', async () => {
  const wallet = await newPlayer();
  const tooMany = { status: 409, error: expect.stringContaining('too many of them are held') };
  const held = (score: number) => submissionOf(wallet, 'queue-game', score);
  expect(await submit(held(9_001), held(9_002), held(100))).toMatchObject([{ status: 'held' }, tooMany, { status: 'accepted' }]);
  expect(await submit(held(9_003))).toMatchObject([tooMany]);
});

test('newcomers are compared with the tenth place of the board', async () => {
  const game = await findGame(t.app, 'ranked-game');
  if (!game) throw new Error('the game is missing');
  await rebuildBoard(t.app, gameBoard(game.id));
  const add = (value: number) => scoreBest(t.app, { wallet: createWallet().address, gameId: game.id, value });
  for (let i = 1; i <= 9; i++) await add(1_000 * i);
  expect(await readTops(t.app, [game])).toEqual(new Map([[game.id, null]]));
  await add(500);
  expect(await readTops(t.app, [game])).toEqual(new Map([[game.id, 500]]));
});

test('a play is read only with its own game, although another submission names it with another game', async () => {
  const wallet = await newPlayer();
  const [ended] = [await insertPlay(wallet, 'played-game'), await insertPlay(wallet, 'played-game')];
  const own = { playId: ended, gameId: 'played-game', maxLivePlays: 1 };
  const foreign = { playId: ended, gameId: 'free-game', maxLivePlays: 1_000 };
  for (const named of [
    [own, foreign],
    [foreign, own],
  ]) {
    expect([...(await readPlays(t.app.db, named)).values()]).toMatchObject([{ id: ended, gameId: 'played-game', endedAt: expect.any(Date) }]);
  }
  expect(await readPlays(t.app.db, [foreign])).toEqual(new Map());
});

test('the scores of a wallet in games without verification are limited, and its scores in other games are not', async () => {
  const wallet = await newPlayer();
  const submitTimes = async (times: number, gameId: string) => {
    for (let i = 0; i < times; i++) await limitUnverifiedScores(t.app, wallet, gameId);
  };
  await submitTimes(5, 'played-game');
  await submitTimes(2, 'free-game');
  await expect(submitTimes(1, 'other-game')).rejects.toMatchObject({ status: 429 });
  await submitTimes(1, 'played-game');
});
