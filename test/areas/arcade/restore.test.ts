import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { closeEndedPeriods, gameBoard, rebuildBoard } from '#areas/points';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { openEvents, type SseClient } from '#test/support/http/sse.ts';
import { contradictions } from '#test/support/invariants.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';
import { runChecks } from '#tools/audit/audit.ts';
import { activityChecks } from '#tools/audit/checks/activities.ts';

const DAY_MS = 86_400_000;
let t: TestApp;
const clients: SseClient[] = [];

beforeAll(async () => {
  t = await startTestApp({ env: { DAILY_POINTS_CAP: '150' } });
  await t.clock.set(new Date('2031-05-06T10:00:00Z'));
  for (const id of ['first-game', 'second-game']) {
    await registerGame(t.url, ADMIN_TOKEN, id, { ...TEST_GAME, caps: { ...TEST_GAME.caps, dailyPoints: 100 } });
  }
  await registerGame(t.url, ADMIN_TOKEN, 'held-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 1 } });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  const places = { databaseUrl: t.env.DATABASE_URL ?? '', redisUrl: t.env.REDIS_URL ?? '', redisPrefix: t.env.REDIS_PREFIX ?? '' };
  await closeEndedPeriods(t.app);
  await retryUntilPass(async () => {
    expect(await contradictions(places)).toEqual([]);
    const results = await runChecks(t.app.config, activityChecks, { recheck: { attempts: 1, intervalMs: 20 } });
    expect(results.flatMap(({ listed, failure }) => [...listed, ...(failure === null ? [] : [failure])])).toEqual([]);
  });
});
afterAll(() => t.close());

async function score(player: SignedIn, gameId: string, value: number) {
  const { playId } = (await (await player.fetch(`/game/${gameId}/play`, { method: 'POST' })).json()) as { playId: string };
  const response = await player.fetch('/arcade/score', { json: { gameId, score: value, playId } });
  expect(response.status).toBe(200);
  return (await response.json()) as { scoreId: string; pointsAwarded: number; status: string };
}

async function admin(path: string, json: unknown = { reason: 'a test' }) {
  const response = await send(t, path, { json, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const voidScore = (id: string) => admin(`/admin/scores/${id}/void`);
const restore = (id: string) => admin(`/admin/scores/${id}/restore`);

async function rankOf({ wallet }: SignedIn, gameId: string) {
  const board = (await (await send(t, `/game/${gameId}/leaderboard?limit=500`)).json()) as { wallet: string; score: number; rank: number }[];
  const line = board.find((entry) => entry.wallet === wallet);
  return line === undefined ? null : [line.score, line.rank];
}
const ledgerOf = ({ wallet }: SignedIn) =>
  t.app.db.query({ text: 'select reason, points::int as points, rewards, day from ledger where wallet = $1 order by at, reason' }, [wallet]);
const today = () => Math.floor(t.clock.now().getTime() / DAY_MS);
const nextDay = async (days: number) => t.clock.set(new Date(t.clock.now().getTime() + days * DAY_MS));

test('a void on the same day gives the points back to both daily caps', async () => {
  const player = await signIn(t);
  const first = await score(player, 'first-game', 10_000);
  expect(first.pointsAwarded).toBe(100);
  expect((await score(player, 'first-game', 10_000)).pointsAwarded).toBe(0);
  expect((await score(player, 'second-game', 10_000)).pointsAwarded).toBe(50);
  expect((await voidScore(first.scoreId)).status).toBe(200);
  expect((await score(player, 'second-game', 10_000)).pointsAwarded).toBe(50);
  expect((await score(player, 'first-game', 10_000)).pointsAwarded).toBe(50);
  expect((await score(player, 'first-game', 10_000)).pointsAwarded).toBe(0);
});

test('a void on a later day gives nothing back to the caps of that day', async () => {
  const player = await signIn(t);
  const old = await score(player, 'first-game', 10_000);
  await nextDay(1);
  const again = await signIn(t);
  expect((await score(again, 'first-game', 10_000)).pointsAwarded).toBe(100);
  const { scoreId } = await score(player, 'first-game', 10_000);
  expect((await voidScore(old.scoreId)).status).toBe(200);
  expect((await score(player, 'first-game', 10_000)).pointsAwarded).toBe(0);
  expect((await voidScore(scoreId)).status).toBe(200);
  expect((await score(player, 'first-game', 10_000)).pointsAwarded).toBe(100);
});

test('a restored score has its points and its place on the board again', async () => {
  const player = await signIn(t);
  const { scoreId } = await score(player, 'first-game', 8_000);
  await voidScore(scoreId);
  await retryUntilPass(async () => expect(await rankOf(player, 'first-game')).toBeNull());
  await nextDay(1);
  expect(await restore(scoreId)).toMatchObject({ status: 200, body: { scoreId, status: 'accepted', pointsAwarded: 80, noPointsReason: null } });
  await retryUntilPass(async () => expect(await rankOf(player, 'first-game')).toMatchObject([8_000, expect.any(Number)]));
  expect(await ledgerOf(player)).toEqual([
    { reason: 'score', points: 80, rewards: true, day: today() - 1 },
    { reason: 'void', points: -80, rewards: true, day: today() - 1 },
    { reason: 'restore', points: 80, rewards: true, day: today() },
  ]);
  // The points belong to the caps of the day of the score.
  const back = await signIn(t);
  expect((await score(back, 'first-game', 10_000)).pointsAwarded).toBe(100);
});

test('the points of a restored score are cut to what other scores left of the caps of its day', async () => {
  const player = await signIn(t);
  const first = await score(player, 'first-game', 10_000);
  await voidScore(first.scoreId);
  expect((await score(player, 'first-game', 3_000)).pointsAwarded).toBe(30);
  expect((await score(player, 'second-game', 10_000)).pointsAwarded).toBe(100);
  expect((await restore(first.scoreId)).body).toMatchObject({ pointsAwarded: 20 });
  expect((await score(player, 'first-game', 10_000)).pointsAwarded).toBe(0);
  const other = await signIn(t);
  const none = await score(other, 'first-game', 10_000);
  await voidScore(none.scoreId);
  await score(other, 'first-game', 10_000);
  expect((await restore(none.scoreId)).body).toMatchObject({ status: 'accepted', pointsAwarded: 0, noPointsReason: 'game-cap' });
});

test('a restored score can be voided again, but not restored a second time', async () => {
  const player = await signIn(t);
  const { scoreId } = await score(player, 'first-game', 5_000);
  expect(await restore(scoreId)).toMatchObject({ status: 409, body: { error: 'the score is accepted, not voided' } });
  await voidScore(scoreId);
  expect((await restore(scoreId)).status).toBe(200);
  expect((await restore(scoreId)).status).toBe(409);
  expect((await voidScore(scoreId)).status).toBe(200);
  expect(await restore(scoreId)).toMatchObject({ status: 409, body: { error: expect.stringContaining('restored before') } });
  const rows = (await ledgerOf(player)) as { reason: string; points: number }[];
  expect(Object.fromEntries(rows.map(({ reason, points }) => [reason, points]))).toEqual({ score: 50, void: -50, restore: 50, 'second-void': -50 });
  await retryUntilPass(async () => expect(await rankOf(player, 'first-game')).toBeNull());
  expect((await score(player, 'first-game', 10_000)).pointsAwarded).toBe(100);
});

test('of ten concurrent restorations of one score exactly one succeeds', async () => {
  const { scoreId } = await score(await signIn(t), 'first-game', 5_000);
  await voidScore(scoreId);
  const answers = await Promise.all(Array.from({ length: 10 }, () => restore(scoreId)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
});

test('a score that does not exist is 404, and a score of a banned wallet stays voided', async () => {
  expect((await restore(randomUUID())).status).toBe(404);
  const wallet = createWallet();
  const player = await signIn(t, wallet);
  const { scoreId } = await score(player, 'first-game', 5_000);
  await voidScore(scoreId);
  await admin(`/admin/wallets/${player.wallet}/ban`);
  expect(await restore(scoreId)).toMatchObject({ status: 409, body: { error: expect.stringContaining('banned') } });
  await admin(`/admin/wallets/${player.wallet}/unban`, {});
  expect((await restore(scoreId)).status).toBe(200);
});

test('score_update is sent exactly when a board changes, with the value of the board and the rank', async () => {
  const game = 'held-game';
  const [rival, player] = [await signIn(t), await signIn(t)];
  await rebuildBoard(t.app, gameBoard(game));
  const accept = async ({ scoreId, status }: { scoreId: string; status: string }) => {
    expect(status).toBe('held');
    expect((await admin(`/admin/scores/${scoreId}/decision`, { decision: 'accept' })).status).toBe(200);
    return scoreId;
  };
  await accept(await score(rival, game, 6_000));
  const client = await openEvents(t, { cookie: player.cookie });
  clients.push(client);
  await client.until('the stream', () => client.comments.length > 0);
  const heard = () =>
    (client.values('updates', 'score_update') as { wallet: string; score: number | null; rank: number | null }[][])
      .flat()
      .filter(({ wallet }) => wallet === player.wallet);
  const expected: [score: number | null, rank: number | null][] = [];
  const expectNext = async (value: number | null, rank: number | null) => {
    expected.push([value, rank]);
    await client.until(`the change to ${value}`, () => heard().length >= expected.length);
    expect(await rankOf(player, game)).toEqual(value === null ? null : [value, rank]);
    expect(heard().map((update) => [update.score, update.rank])).toEqual(expected);
  };
  const best = await accept(await score(player, game, 7_000));
  await expectNext(7_000, 1);
  const lower = await accept(await score(player, game, 5_000));
  const rejected = await score(player, game, 9_000);
  await admin(`/admin/scores/${rejected.scoreId}/decision`, { decision: 'reject' });
  await voidScore(best);
  await expectNext(5_000, 2);
  await voidScore(lower);
  await expectNext(null, null);
  await restore(lower);
  await expectNext(5_000, 2);
  await restore(best);
  await expectNext(7_000, 1);
  await voidScore(lower);
  await player.fetch('/api/beta/preference', { json: { enabled: true } });
  await accept(await score(player, game, 9_500));
  await player.fetch('/api/beta/preference', { json: { enabled: false } });
  await accept(await score(player, game, 8_000));
  await expectNext(8_000, 1);
  expect(client.values('decision', 'score_decided')).toEqual([
    ...['accepted', 'accepted', 'rejected', 'voided', 'voided', 'restored', 'restored', 'voided', 'accepted', 'accepted'],
  ]);
  expect(client.values('normalizedScore', 'score_recorded')).toEqual([7_000, 5_000, 9_000, 9_500, 8_000]);
  expect(client.values('status', 'score_recorded')).toEqual(Array(5).fill('held'));
  await admin(`/admin/wallets/${player.wallet}/ban`);
  const other = await openEvents(t, { lastEventId: client.lastEventId });
  clients.push(other);
  const left = () => (other.values('updates', 'score_update') as { wallet: string; score: number | null }[][]).flat();
  await other.until('the ban', () => left().some(({ wallet, score: value }) => wallet === player.wallet && value === null));
  expect(await rankOf(player, game)).toBeNull();
});
