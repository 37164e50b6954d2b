import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { findGame } from '#areas/arcade/games/registry.ts';
import { decideScore } from '#areas/arcade/scores/decide.ts';
import { type ActivityEvent, appendPoints, consumeActivities, openDay } from '#areas/points';
import { referralConsumer } from '#areas/referrals';
import { readStats, readSummary } from '#areas/referrals/stats.ts';
import type { Statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';
import {
  bindTo,
  consume,
  FREE,
  join,
  ledgerOf,
  makeReferrals,
  registerGames,
  score,
  standingsOf,
  VERIFIED,
  voidTestScore,
} from '#test/support/areas/referrals.ts';

const DAY_MS = 86_400_000;
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { REFERRAL_DAILY_CAP: '100' } });
  await t.clock.set(new Date('2031-03-03T12:00:00Z'));
  await registerGames(t);
});
afterEach(async () => void (await consume(t.app)));
afterAll(() => t.close());

const family = (n: number) => makeReferrals(t.app, n);
const ban = (wallet: string, at: string | null) => sql(t.app, 'update players set banned_at = $2::timestamptz where wallet = $1', [wallet, at]);
const pointsOf = async (wallet: string) => (await ledgerOf(t.app, wallet)).map(({ points }) => points);
const standing = (wallet: string, board?: string) => standingsOf(t.app, wallet, board);

test('a referrer gets 10 % of each score, rounded down, for any number of batches', async () => {
  const [referrer, child = ''] = await family(1);
  const scores = [];
  for (const value of [199, 95, 250]) scores.push(await score(t, child, VERIFIED, value));
  expect(scores.map(({ points }) => points)).toEqual([19, 9, 25]);
  await consume(t.app, { maxActivities: 2 });
  await consume(t.app);
  expect(await ledgerOf(t.app, referrer)).toEqual([
    { reason: 'referral', points: 1, mode: 'regular', rewards: true, sourceId: scores[0]?.scoreId },
    { reason: 'referral', points: 2, mode: 'regular', rewards: true, sourceId: scores[2]?.scoreId },
  ]);
  expect([await standing(referrer), await standing(referrer, 'global'), await standing(child)]).toEqual([['regular 3'], ['regular 3'], []]);
});

test('a referrer hears of earned points, one event per batch with the part of each wallet, and of points that a void takes back', async () => {
  const [referrer, one = '', two = '', idle = ''] = await family(3);
  const earned = () =>
    sql<{ payload: object }>(t.app, `select payload from outbox where type = 'referral_earned' and wallet = $1 order by id`, [referrer]);
  const first = await score(t, one, VERIFIED, 250);
  await score(t, one, VERIFIED, 100);
  await score(t, two, VERIFIED, 300);
  await score(t, idle, VERIFIED, 5);
  await consume(t.app);
  await consume(t.app);
  const parts = [
    { wallet: one, points: 3, betaPoints: 0 },
    { wallet: two, points: 3, betaPoints: 0 },
  ];
  expect((await earned()).map(({ payload }) => payload)).toEqual([{ points: 6, betaPoints: 0, wallets: parts }]);
  await voidTestScore(t.app, first.scoreId);
  await consume(t.app);
  expect((await earned()).slice(1).map(({ payload }) => payload)).toEqual([
    { points: -2, betaPoints: 0, wallets: [{ wallet: one, points: -2, betaPoints: 0 }] },
  ]);
});

test('the first score in a verified game and all later scores give points to the referrer', async () => {
  const [referrer, child = ''] = await family(1);
  for (const [game, value] of [
    [FREE, 1_000],
    [VERIFIED, 200],
    [FREE, 300],
  ] as const)
    await score(t, child, game, value);
  await consume(t.app);
  expect((await ledgerOf(t.app, referrer)).map(({ points, rewards }) => [points, rewards])).toEqual([
    [2, true],
    [3, false],
  ]);
  await score(t, child, FREE, 400);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([2, 3, 4]);
});

test('a score from before the binding gives no points to the referrer, but may verify the wallet', async () => {
  const [referrer] = await family(0);
  const [veteran, idler] = [randomWallet(), randomWallet()];
  for (const wallet of [veteran, idler]) await join(t.app, wallet);
  const before = await score(t, veteran, VERIFIED, 1_000);
  await score(t, idler, FREE, 1_000);
  for (const wallet of [veteran, idler]) await bindTo(t.app, referrer, wallet);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([]);
  for (const wallet of [veteran, idler]) await score(t, wallet, FREE, 500);
  await voidTestScore(t.app, before.scoreId);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([5]);
});

test('a held score counts when it is accepted', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  await sql(t.app, `update scores set status = 'held', points = 0, batch = null where id = $1`, [scoreId]);
  const game = await findGame(t.app, VERIFIED);
  if (!game) throw new Error('the game was not found');
  await decideScore(t.app, game, scoreId, 'accept', { by: 'test', reason: undefined });
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([5]);
});

test('the daily cap limits shares, is not restored by a void, and resets at midnight UTC', async () => {
  const [referrer, a = '', b = ''] = await family(2);
  const first = await score(t, a, VERIFIED, 6_000);
  await score(t, b, VERIFIED, 3_000);
  const cut = await score(t, b, VERIFIED, 2_500);
  await score(t, b, VERIFIED, 1_000);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([10, 30, 60]);
  for (const { scoreId } of [first, cut]) await voidTestScore(t.app, scoreId);
  await score(t, b, VERIFIED, 1_000);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([-60, -10, 10, 30, 60]);
  expect((await readStats(t.app, referrer)).today).toMatchObject({ cap: 100, used: 100, left: 0 });
  await t.clock.set(new Date(t.clock.now().getTime() + DAY_MS));
  await score(t, b, VERIFIED, 2_000);
  await consume(t.app);
  expect((await readStats(t.app, referrer)).today).toMatchObject({ used: 20, left: 80 });
  expect(await standing(referrer)).toEqual(['regular 50']);
});

test('shares have the mode of their score, and both modes use one daily cap', async () => {
  const [referrer, child = ''] = await family(1);
  await score(t, child, VERIFIED, 6_000);
  await sql(t.app, `update players set mode = 'beta' where wallet = $1`, [child]);
  const beta = await score(t, child, VERIFIED, 7_000);
  await consume(t.app);
  expect((await ledgerOf(t.app, referrer)).map(({ mode, points }) => [mode, points]).sort()).toEqual([
    ['beta', 40],
    ['regular', 60],
  ]);
  expect(await standing(referrer)).toEqual(['beta 40', 'regular 60']);
  await voidTestScore(t.app, beta.scoreId);
  await consume(t.app);
  expect(await standing(referrer)).toEqual(['beta 0', 'regular 60']);
  expect(await readSummary(t.app, referrer)).toMatchObject({ pointsEarned: 60, betaPointsEarned: 0 });
});

test('a banned referrer gets no shares, and a void still subtracts earlier shares', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  await consume(t.app);
  await ban(referrer, '2031-01-01');
  await score(t, child, VERIFIED, 500);
  await voidTestScore(t.app, scoreId);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([-5, 5]);
  await ban(referrer, null);
});

test('a batch that is rolled back and retried gives its shares once', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  for (let i = 0; i < 3; i++) await consume(t.app, { killed: true });
  expect([await pointsOf(referrer), await standing(referrer)]).toEqual([[], []]);
  await consume(t.app);
  await voidTestScore(t.app, scoreId);
  await consume(t.app, { killed: true });
  for (let i = 0; i < 3; i++) await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([-5, 5]);
  expect(await readSummary(t.app, referrer)).toMatchObject({ referralCount: 1, verifiedReferrals: 0, activeReferrals: 1, pointsEarned: 0 });
});

test('concurrent consumers give each share once', async () => {
  const [referrer, ...children] = await family(4);
  for (const child of children) await score(t, child, VERIFIED, 500);
  const quests = { name: 'quests', bit: 2, consume: async () => [] } as const;
  const drain = async () => {
    while (await consumeActivities(t.app, [referralConsumer, quests]));
  };
  await Promise.all([drain(), drain(), drain()]);
  await drain();
  expect(await pointsOf(referrer)).toEqual([5, 5, 5, 5]);
});

test('a batch of 1,000 activities runs few statements, one statement without referred wallets, and gives shares once if repeated', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  const activityOf = (wallet: string): ActivityEvent => ({
    kind: 'score',
    sourceId: scoreId,
    wallet,
    gameId: VERIFIED,
    battleId: null,
    amount: 1n,
    day: 0,
    at: t.clock.now().getTime() + 1_000,
  });
  const count = async (activities: ActivityEvent[]) => {
    const names: string[] = [];
    await t.app.tx(async (tx) => {
      const open = await openDay(tx);
      const query = <Row>(statement: Statement<Row>, values?: readonly unknown[]) => {
        names.push(statement.name ?? '');
        return tx.query(statement, values);
      };
      await appendPoints(tx, open, await referralConsumer.consume(t.app, { ...tx, query }, open, activities));
    });
    return names.length;
  };
  const unreferred = Array.from({ length: 1_000 }, () => activityOf(randomWallet()));
  expect(await count(unreferred)).toBe(1);
  expect(await count([...unreferred, activityOf(child)])).toBe(5);
  expect(await pointsOf(referrer)).toEqual([5]);
  expect(await count([...unreferred, activityOf(child)])).toBeLessThan(5);
  expect(await pointsOf(referrer)).toEqual([5]);
  expect(await readSummary(t.app, referrer)).toMatchObject({ pointsEarned: 5 });
});
