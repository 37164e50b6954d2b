import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi } from '#test/support/api.ts';
import { ADMIN_TOKEN, startTestApp, startWorker, type TestApp } from '#test/support/app.ts';
import { expectConsistent, playAndScore, registerGame, requestAsAdmin, startPlay, submitScore, TEST_GAME } from '#test/support/areas/arcade.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { send, signIn } from '#test/support/wallet.ts';

const SECRET = 'a-secret-of-sixteen-or-more';
let t: TestApp;

beforeAll(async () => {
  t = await startTestApp({ env: { DAILY_POINTS_CAP: '250' } });
  await registerGame(t.url, ADMIN_TOKEN, 'test-game');
  await registerGame(t.url, ADMIN_TOKEN, 'free-game', { ...TEST_GAME, verification: 'none' });
  await registerGame(t.url, ADMIN_TOKEN, 'slow-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, minDurationMs: 60_000, maxDurationMs: 120_000 } });
  await registerGame(t.url, ADMIN_TOKEN, 'strict-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 100 } });
  await registerGame(t.url, ADMIN_TOKEN, 'capped-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, dailyPoints: 130 } });
  await registerGame(t.url, ADMIN_TOKEN, 'idle-game', { ...TEST_GAME, pointsPer10000: 0 });
  await registerGame(t.url, ADMIN_TOKEN, 'signed-game', { ...TEST_GAME, secret: SECRET });
});
afterAll(() => t.close());

test('POST /arcade/score returns the points and the wallet’s rank after the commit', async () => {
  const [best, second] = [await signIn(t), await signIn(t)];
  const first = await playAndScore(best, 'test-game', 9_000);
  expect(first).toMatchObject({ status: 200, body: { status: 'accepted', normalizedScore: 9_000, pointsAwarded: 90, personalBest: true } });
  const other = await playAndScore(second, 'test-game', 4_000);
  expect(other.body).toMatchObject({ pointsAwarded: 40, personalBest: true, rank: { score: 4_000 } });
  const rank = (await (await second.fetch('/game/test-game/rank')).json()) as object;
  expect(rank).toMatchObject(other.body.rank as object);
  expect(other.body.rank).toMatchObject({ neighbours: expect.arrayContaining([expect.objectContaining({ wallet: best.wallet, score: 9_000 })]) });
});

test('a lower score of the same wallet is recorded, but is not a personal best', async () => {
  const player = await signIn(t);
  await playAndScore(player, 'test-game', 5_000);
  expect((await playAndScore(player, 'test-game', 3_000)).body).toMatchObject({ status: 'accepted', personalBest: false, rank: { score: 5_000 } });
  expect((await playAndScore(player, 'test-game', 6_000)).body).toMatchObject({ personalBest: true, rank: { score: 6_000 } });
});

test('points stop at the daily cap of the game and at the cap over all games, but scores still count for the board', async () => {
  const player = await signIn(t);
  expect((await playAndScore(player, 'capped-game', 10_000)).body.pointsAwarded).toBe(100);
  expect((await playAndScore(player, 'capped-game', 10_000)).body.pointsAwarded).toBe(30);
  expect((await playAndScore(player, 'test-game', 9_000)).body.pointsAwarded).toBe(90);
  expect((await playAndScore(player, 'test-game', 9_500)).body).toMatchObject({ pointsAwarded: 30, personalBest: true });
  expect((await playAndScore(player, 'test-game', 9_900)).body).toMatchObject({ pointsAwarded: 0, personalBest: true, rank: { score: 9_900 } });
});

test('a score without points says why, and each score says what is left of the caps of the day', async () => {
  const player = await signIn(t);
  const told = async (gameId: string, score: number) => {
    const { pointsAwarded, noPointsReason, leftToday } = (await playAndScore(player, gameId, score)).body;
    return { pointsAwarded, noPointsReason, leftToday };
  };
  expect(await told('capped-game', 99)).toEqual({ pointsAwarded: 0, noPointsReason: 'low-score', leftToday: { game: 130, all: 250 } });
  expect(await told('idle-game', 9_000)).toMatchObject({ pointsAwarded: 0, noPointsReason: 'game-earns-nothing', leftToday: { all: 250 } });
  expect(await told('strict-game', 8_000)).toMatchObject({ pointsAwarded: 0, noPointsReason: 'held', leftToday: { game: 250, all: 250 } });
  expect(await told('capped-game', 10_000)).toEqual({ pointsAwarded: 100, noPointsReason: null, leftToday: { game: 30, all: 150 } });
  expect(await told('capped-game', 10_000)).toEqual({ pointsAwarded: 30, noPointsReason: null, leftToday: { game: 0, all: 120 } });
  expect(await told('capped-game', 10_000)).toEqual({ pointsAwarded: 0, noPointsReason: 'game-cap', leftToday: { game: 0, all: 120 } });
  expect(await told('test-game', 10_000)).toEqual({ pointsAwarded: 100, noPointsReason: null, leftToday: { game: 20, all: 20 } });
  expect(await told('test-game', 9_000)).toEqual({ pointsAwarded: 20, noPointsReason: null, leftToday: { game: 0, all: 0 } });
  for (const gameId of ['test-game', 'capped-game']) {
    expect(await told(gameId, 9_000)).toEqual({ pointsAwarded: 0, noPointsReason: 'daily-cap', leftToday: { game: 0, all: 0 } });
  }
  await expectConsistent(t);
});

test('a repeated score gets its stored reason; after a decision or a void it gets its new state', async () => {
  const player = await signIn(t);
  const submitted = async (gameId: string, score: number) => {
    const body = { gameId, score, playId: await startPlay(player, gameId) };
    return { body, ...(await submitScore(player, body)).body };
  };
  const low = await submitted('test-game', 50);
  const good = await submitted('test-game', 5_000);
  const held = await submitted('strict-game', 8_000);
  const again = async ({ body }: { body: Record<string, unknown> }) => (await submitScore(player, body)).body;
  expect(await again(low)).toMatchObject({ scoreId: low.scoreId, pointsAwarded: 0, noPointsReason: 'low-score', leftToday: { game: 200, all: 200 } });
  expect(await again(good)).toMatchObject({ status: 'accepted', pointsAwarded: 50, noPointsReason: null, personalBest: true });
  expect(await (await requestAsAdmin(t, `/admin/scores/${good.scoreId}/void`, { reason: 'modified client' })).json()).toMatchObject({
    ...{ status: 'voided', pointsAwarded: 0, noPointsReason: 'voided' },
  });
  expect(await again(good)).toMatchObject({
    ...{ scoreId: good.scoreId, status: 'voided', normalizedScore: 5_000, pointsAwarded: 0, noPointsReason: 'voided', personalBest: false },
  });
  expect(await again(held)).toMatchObject({ status: 'held', pointsAwarded: 0, noPointsReason: 'held' });
  await requestAsAdmin(t, `/admin/scores/${held.scoreId}/decision`, { decision: 'accept' });
  expect(await again(held)).toMatchObject({ status: 'accepted', pointsAwarded: 80, noPointsReason: null, personalBest: true });
  const rejected = await submitted('strict-game', 9_000);
  await requestAsAdmin(t, `/admin/scores/${rejected.scoreId}/decision`, { decision: 'reject' });
  expect(await again(rejected)).toMatchObject({ status: 'rejected', pointsAwarded: 0, noPointsReason: 'rejected', personalBest: false });
});

test('fifty concurrent scores of one wallet do not exceed its caps', async () => {
  const player = await signIn(t);
  const plays = await Promise.all(Array.from({ length: 50 }, () => startPlay(player, 'capped-game')));
  const answers = await Promise.all(plays.map((playId) => submitScore(player, { gameId: 'capped-game', score: 1_000, playId })));
  expect(answers.every((answer) => answer.status === 200)).toBe(true);
  expect(answers.reduce((sum, answer) => sum + Number(answer.body.pointsAwarded), 0)).toBe(130);
});

test('the same play with the same body gets the stored result, and with another body 409', async () => {
  const player = await signIn(t);
  const body = { gameId: 'test-game', score: 100, playId: await startPlay(player, 'test-game') };
  const first = await submitScore(player, body);
  expect(await submitScore(player, body)).toMatchObject({
    status: 200,
    body: { scoreId: first.body.scoreId, pointsAwarded: first.body.pointsAwarded },
  });
  expect(await submitScore(player, { ...body, score: 101 })).toEqual({ status: 409, body: { error: 'playId was used before with another score' } });
});

test('twenty concurrent submissions of one play record one score', async () => {
  const player = await signIn(t);
  const body = { gameId: 'test-game', score: 2_000, playId: await startPlay(player, 'test-game') };
  const answers = await Promise.all(Array.from({ length: 20 }, () => submitScore(player, body)));
  expect(new Set(answers.map((answer) => answer.body.scoreId)).size).toBe(1);
  expect(answers.map((answer) => answer.body.pointsAwarded)).toEqual(Array(20).fill(20));
});

test('repeated requests with one Idempotency-Key and without a play record one score', async () => {
  const player = await signIn(t);
  const headers = { 'Idempotency-Key': randomUUID() };
  const body = { gameId: 'free-game', score: 700 };
  const answers = await Promise.all(Array.from({ length: 10 }, () => submitScore(player, body, headers)));
  expect(new Set(answers.map((answer) => answer.body.scoreId)).size).toBe(1);
  expect(await submitScore(player, { ...body, score: 701 }, headers)).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('Idempotency-Key') },
  });
  const other = await submitScore(await signIn(t), { ...body, score: 702 }, headers);
  expect(other.status).toBe(200);
});

test('an impossible score is refused with the reason, stores no row and leaves the play unused', async () => {
  const player = await signIn(t);
  const playId = await startPlay(player, 'test-game');
  const refusals: [Record<string, unknown>, number, string][] = [
    [{ gameId: 'test-game', score: 10_001, playId }, 400, 'score must be an integer from 0 to 10000 in this game'],
    [{ gameId: 'test-game', score: -1, playId }, 400, 'score must be an integer from 0 to 10000 in this game'],
    [{ gameId: 'test-game', score: 1.5, playId }, 400, 'score must be an integer'],
    [{ gameId: 'test-game', score: '5', playId }, 400, 'score must be'],
    [{ gameId: 'test-game', score: 5 }, 400, 'playId is required in this game'],
    [{ gameId: 'test-game', score: 5, playId: 'nonsense' }, 400, 'playId must be a UUID in lower case'],
    [{ gameId: 'test-game', score: 5, playId: randomUUID() }, 400, 'playId must name a play that you started in this game'],
    [{ gameId: 'capped-game', score: 5, playId }, 400, 'playId must name a play that you started in this game'],
    [{ gameId: 'no-such-game', score: 5, playId }, 404, 'gameId must be a game of this arcade'],
    [{ gameId: 'test-game', score: 5, playId, durationMs: 3_600_000 }, 400, 'durationMs must not be longer than the play'],
    [{ gameId: 'test-game', score: 5, playId, cheat: true }, 400, 'cheat is not a known field'],
    [{ score: 5, playId }, 400, 'gameId is required'],
  ];
  for (const [body, status, error] of refusals) {
    expect(await submitScore(player, body)).toMatchObject({ status, body: { error: expect.stringContaining(error) } });
  }
  expect(await submitScore(player, { gameId: 'test-game', score: 5, playId })).toMatchObject({ status: 200 });
});

test('a score with a play of another wallet is refused, even if that play has a score', async () => {
  const [owner, thief] = [await signIn(t), await signIn(t)];
  const playId = await startPlay(owner, 'test-game');
  const body = { gameId: 'test-game', score: 50, playId };
  expect(await submitScore(thief, body)).toMatchObject({ status: 400 });
  expect((await submitScore(owner, body)).status).toBe(200);
  expect(await submitScore(thief, body)).toMatchObject({ status: 400, body: { error: 'playId must name a play that you started in this game' } });
});

test('a score with a play that is too short or too old is refused', async () => {
  const player = await signIn(t);
  const body = { gameId: 'slow-game', score: 50, playId: await startPlay(player, 'slow-game') };
  expect(await submitScore(player, body)).toMatchObject({
    status: 400,
    body: { error: 'playId must name a play that lasted longer: no play of this game ends so soon' },
  });
});

test('a game with a secret accepts only scores signed with it', async () => {
  const player = await signIn(t);
  const playId = await startPlay(player, 'signed-game');
  const body = { gameId: 'signed-game', score: 800, playId, durationMs: 0 };
  const sign = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex');
  const wrong = sign(`v1:${playId}:${player.wallet}:801:0`);
  expect(await submitScore(player, body)).toMatchObject({ status: 400, body: { error: expect.stringContaining('signature') } });
  expect(await submitScore(player, { ...body, signature: wrong })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('signature') },
  });
  expect(await submitScore(player, { ...body, signature: sign(`v1:${playId}:${player.wallet}:800:0`) })).toMatchObject({ status: 200 });
});

test('submitting a score requires a session, and deciding requires an admin token', async () => {
  expect((await send(t, '/arcade/score', { json: { gameId: 'test-game', score: 1 } })).status).toBe(401);
  expect((await send(t, '/admin/scores')).status).toBe(403);
  expect((await send(t, `/admin/scores/${randomUUID()}/decision`, { json: { decision: 'accept' } })).status).toBe(403);
  expect((await send(t, `/admin/scores/${randomUUID()}/void`, { json: { reason: 'x' } })).status).toBe(403);
  expect((await requestAsAdmin(t, `/admin/scores/${randomUUID()}/decision`, { decision: 'maybe' })).status).toBe(400);
});

test('without a worker a score gets 503, and repeating the request records it once', async () => {
  const lonely = await startTestApp({ workers: false });
  try {
    await registerGame(lonely.url, ADMIN_TOKEN, 'test-game');
    const player = await signIn(lonely);
    const body = { gameId: 'test-game', score: 100, playId: await startPlay(player, 'test-game') };
    const answer = await player.fetch('/arcade/score', { json: body });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('Retry-After')).not.toBeNull();
    const worker = await startWorker({ ...lonely.env });
    try {
      expect(await submitScore(player, body)).toMatchObject({ status: 200, body: { pointsAwarded: 1 } });
      await retryUntilPass(async () => expect(await (await player.fetch('/leaderboard/global/rank')).json()).toMatchObject({ rank: 1, score: 1 }));
    } finally {
      await worker.close();
    }
  } finally {
    await lonely.close();
  }
});

test('a wallet submits at most the configured scores per minute and per day in games without verification', async () => {
  const api = await startApi({ ...t.env, UNVERIFIED_SCORES_PER_MINUTE: '3', UNVERIFIED_SCORES_PER_DAY: '1' });
  const strict = await startApi({ ...t.env, UNVERIFIED_SCORES_PER_MINUTE: '3' });
  try {
    const player = await signIn(strict);
    const free = (at: { url: string }) => send(at, '/arcade/score', { json: { gameId: 'free-game', score: 1 }, headers: { Cookie: player.cookie } });
    const answers = await Promise.all(Array.from({ length: 5 }, () => free(strict)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429]);
    const refused = await free(strict);
    expect([Number(refused.headers.get('Retry-After')), await refused.json()]).toEqual([
      20,
      { error: 'a wallet may submit at most 3 scores per minute in games without verification, try again later' },
    ]);
    // Verified games and other wallets are not affected. Each process counts for itself.
    expect((await playAndScore(player, 'test-game', 1)).status).toBe(200);
    expect((await submitScore(await signIn(strict), { gameId: 'free-game', score: 1 })).status).toBe(200);
    expect([(await free(api)).status, (await free(api)).status]).toEqual([200, 429]);
  } finally {
    await Promise.all([api.close(), strict.close()]);
  }
});
