import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { expectConsistent, playAndScore, registerGame, requestAsAdmin, startPlay, submitScore, TEST_GAME } from '#test/support/areas/arcade.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;

beforeAll(async () => {
  t = await startTestApp();
  await registerGame(t.url, ADMIN_TOKEN, 'test-game');
  await registerGame(t.url, ADMIN_TOKEN, 'strict-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 100 } });
});
afterAll(() => t.close());

test('a doubtful score is held without points and is on no board until a moderator accepts it', async () => {
  const player = await signIn(t);
  const held = await playAndScore(player, 'strict-game', 8_000);
  expect(held.body).toMatchObject({ status: 'held', pointsAwarded: 0, personalBest: false, rank: { rank: null } });
  const list = (await (await requestAsAdmin(t, '/admin/scores?status=held')).json()) as { scoreId: string; reasons: string[] }[];
  expect(list.find((score) => score.scoreId === held.body.scoreId)?.reasons).toEqual([expect.stringContaining('per second')]);
  const decided = await requestAsAdmin(t, `/admin/scores/${held.body.scoreId}/decision`, { decision: 'accept', reason: 'replay seen' });
  expect(await decided.json()).toMatchObject({ status: 'accepted', pointsAwarded: 80, decidedBy: 'admin-1' });
  await retryUntilPass(async () => expect(await (await player.fetch('/game/strict-game/rank')).json()).toMatchObject({ rank: 1, score: 8_000 }));
  expect((await requestAsAdmin(t, `/admin/scores/${held.body.scoreId}/decision`, { decision: 'accept' })).status).toBe(409);
  await expectConsistent(t);
});

test('a rejected score gives no points and is on no board', async () => {
  const player = await signIn(t);
  const held = await playAndScore(player, 'strict-game', 7_000);
  expect(await (await requestAsAdmin(t, `/admin/scores/${held.body.scoreId}/decision`, { decision: 'reject' })).json()).toMatchObject({
    status: 'rejected',
    pointsAwarded: 0,
  });
  expect(await (await player.fetch('/game/strict-game/rank')).json()).toMatchObject({ rank: null, score: 0 });
});

test('of twenty concurrent decisions on one held score exactly one succeeds', async () => {
  const player = await signIn(t);
  const held = await playAndScore(player, 'strict-game', 7_500);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => requestAsAdmin(t, `/admin/scores/${held.body.scoreId}/decision`, { decision: 'accept' })),
  );
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array(19).fill(409)]);
  await expectConsistent(t);
});

test('a void takes the points back and recomputes the wallet’s best score', async () => {
  const player = await signIn(t);
  await playAndScore(player, 'test-game', 3_000);
  const cheated = await playAndScore(player, 'test-game', 9_999);
  expect(await (await requestAsAdmin(t, `/admin/scores/${cheated.body.scoreId}/void`, { reason: 'modified client' })).json()).toMatchObject({
    status: 'voided',
  });
  await retryUntilPass(async () => expect(await (await player.fetch('/game/test-game/rank')).json()).toMatchObject({ score: 3_000 }));
  await retryUntilPass(async () => expect(await (await player.fetch('/leaderboard/global/rank')).json()).toMatchObject({ score: 30 }));
  expect((await requestAsAdmin(t, `/admin/scores/${cheated.body.scoreId}/void`, { reason: 'again' })).status).toBe(409);
  expect((await requestAsAdmin(t, `/admin/scores/${randomUUID()}/void`, { reason: 'nothing' })).status).toBe(404);
  await expectConsistent(t);
});

test('a wallet without scores after voids is on no board and has no rank', async () => {
  const player = await signIn(t);
  const only = await playAndScore(player, 'test-game', 1_234);
  await requestAsAdmin(t, `/admin/scores/${only.body.scoreId}/void`, { reason: 'gone' });
  await retryUntilPass(async () => {
    expect(await (await player.fetch('/game/test-game/rank')).json()).toMatchObject({ rank: null, score: 0, percentile: null });
    expect(await (await player.fetch('/leaderboard/global/rank')).json()).toMatchObject({ rank: null, score: 0 });
  });
});

test('a ban ends the wallet’s session, hides it from the boards and blocks scores, until the ban ends', async () => {
  const wallet = createWallet();
  const player = await signIn(t, wallet);
  const playId = await startPlay(player, 'test-game');
  await playAndScore(player, 'test-game', 5_000);
  expect((await requestAsAdmin(t, `/admin/wallets/${player.wallet}/ban`, { reason: 'bot' })).status).toBe(200);
  expect((await requestAsAdmin(t, `/admin/wallets/${player.wallet}/ban`, { reason: 'bot' })).status).toBe(200);
  expect((await submitScore(player, { gameId: 'test-game', score: 1, playId })).status).toBe(401);
  expect((await submitScore(await signIn(t, wallet), { gameId: 'test-game', score: 1, playId })).status).toBe(403);
  await retryUntilPass(async () => {
    const board = (await (await send(t, '/game/test-game/leaderboard?limit=500')).json()) as { wallet: string }[];
    expect(board.map((entry) => entry.wallet)).not.toContain(player.wallet);
  });
  await expectConsistent(t);
  expect((await requestAsAdmin(t, `/admin/wallets/${player.wallet}/unban`, {})).status).toBe(200);
  expect((await requestAsAdmin(t, `/admin/wallets/${player.wallet}/unban`, {})).status).toBe(409);
  expect((await requestAsAdmin(t, `/admin/wallets/${createWallet().address}/ban`, { reason: 'x' })).status).toBe(404);
  expect((await submitScore(await signIn(t, wallet), { gameId: 'test-game', score: 1, playId })).status).toBe(200);
});

test('a ban rejects the held scores of the wallet, and no operator can accept them meanwhile', async () => {
  const player = await signIn(t);
  const held = await playAndScore(player, 'strict-game', 6_500);
  expect((await requestAsAdmin(t, `/admin/wallets/${player.wallet}/ban`, { reason: 'bot' })).status).toBe(200);
  expect((await requestAsAdmin(t, `/admin/scores/${held.body.scoreId}/decision`, { decision: 'accept' })).status).toBe(409);
  await retryUntilPass(async () => {
    const rejected = (await (await requestAsAdmin(t, `/admin/scores?status=rejected&wallet=${player.wallet}`)).json()) as { scoreId: string }[];
    expect(rejected.map(({ scoreId }) => scoreId)).toEqual([held.body.scoreId]);
  });
});

test('the ledger row of a void has the rewards flag of the original row, even if the game changed since', async () => {
  await registerGame(t.url, ADMIN_TOKEN, 'changed-game');
  const player = await signIn(t);
  const score = await playAndScore(player, 'changed-game', 4_000);
  await registerGame(t.url, ADMIN_TOKEN, 'changed-game', { ...TEST_GAME, rewards: false });
  expect((await requestAsAdmin(t, `/admin/scores/${score.body.scoreId}/void`, { reason: 'modified client' })).status).toBe(200);
  const entries = await t.app.db.query({ text: 'select reason, points::int as points, rewards from ledger where wallet = $1 order by points desc' }, [
    player.wallet,
  ]);
  expect(entries).toEqual([
    { reason: 'score', points: 40, rewards: true },
    { reason: 'void', points: -40, rewards: true },
  ]);
});
