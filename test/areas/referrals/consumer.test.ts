import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { findGame } from '#areas/arcade/registry.ts';
import { decideScore } from '#areas/arcade/scores/decide.ts';
import { appendPoints, consumeActivities, type Happened, openDay } from '#areas/points';
import { referralConsumer } from '#areas/referrals';
import { readStats, readSummary } from '#areas/referrals/stats.ts';
import type { Statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { anyWallet } from '#test/support/areas/epochs.ts';
import { bindTo, consume, FREE, join, ledgerOf, makeFamily, registerGames, score, takeBack, VERIFIED } from '#test/support/areas/referrals.ts';

const DAY_MS = 86_400_000;
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { REFERRAL_DAILY_CAP: '100' } });
  await t.clock.set(new Date('2031-03-03T12:00:00Z'));
  await registerGames(t);
});
afterEach(async () => void (await consume(t.app)));
afterAll(() => t.close());

const family = (n: number) => makeFamily(t.app, n);
const ban = (wallet: string, at: string | null) => sql(t.app, 'update players set banned_at = $2::timestamptz where wallet = $1', [wallet, at]);
const pointsOf = async (wallet: string) => (await ledgerOf(t.app, wallet)).map(({ points }) => points);
const standing = async (wallet: string, board = 'referrals') =>
  (
    await sql<{ mode: string; total: number }>(
      t.app,
      'select mode, total::int as total from standings where board = $1 and wallet = $2 order by mode',
      [board, wallet],
    )
  ).map(({ mode, total }) => `${mode} ${total}`);

test('a referrer gets the tenth part of each single score, rounded down, in however many batches', async () => {
  const [referrer, child = ''] = await family(1);
  const scores = [];
  for (const value of [199, 95, 250]) scores.push(await score(t, child, VERIFIED, value));
  expect(scores.map(({ points }) => points)).toEqual([19, 9, 25]);
  await consume(t.app, { most: 2 });
  await consume(t.app);
  expect(await ledgerOf(t.app, referrer)).toEqual([
    { reason: 'referral', points: 1, mode: 'regular', rewards: true, sourceId: scores[0]?.scoreId },
    { reason: 'referral', points: 2, mode: 'regular', rewards: true, sourceId: scores[2]?.scoreId },
  ]);
  expect([await standing(referrer), await standing(referrer, 'global'), await standing(child)]).toEqual([['regular 3'], ['regular 3'], []]);
});

test('scores count from the first one in a verified game on, that one included', async () => {
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

test('scores that were accepted before the binding give nothing, but may have verified the wallet', async () => {
  const [referrer] = await family(0);
  const [veteran, idler] = [anyWallet(), anyWallet()];
  for (const wallet of [veteran, idler]) await join(t.app, wallet);
  const before = await score(t, veteran, VERIFIED, 1_000);
  await score(t, idler, FREE, 1_000);
  for (const wallet of [veteran, idler]) await bindTo(t.app, referrer, wallet);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([]);
  for (const wallet of [veteran, idler]) await score(t, wallet, FREE, 500);
  await takeBack(t.app, before.scoreId);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([5]);
});

test('a held score counts when it is accepted', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  await sql(t.app, `update scores set status = 'held', points = 0 where id = $1`, [scoreId]);
  await sql(t.app, 'delete from activities where source_id = $1', [scoreId]);
  const game = await findGame(t.app, VERIFIED);
  if (!game) throw new Error('no game');
  await decideScore(t.app, game, scoreId, 'accept', { by: 'test', reason: undefined });
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([5]);
});

test('a void takes back exactly what its score gave', async () => {
  const [referrer, child = ''] = await family(1);
  const [first, second] = [await score(t, child, VERIFIED, 500), await score(t, child, VERIFIED, 300)];
  await consume(t.app);
  await takeBack(t.app, first?.scoreId ?? '');
  await consume(t.app);
  expect((await ledgerOf(t.app, referrer)).map(({ reason, points, sourceId }) => [reason, points, sourceId])).toEqual([
    ['referral-void', -5, first?.scoreId],
    ['referral', 3, second?.scoreId],
    ['referral', 5, first?.scoreId],
  ]);
  expect(await standing(referrer)).toEqual(['regular 3']);
});

test('a score and its void give nothing when they are consumed together, or the void first', async () => {
  const [referrer, child = ''] = await family(1);
  await takeBack(t.app, (await score(t, child, VERIFIED, 500)).scoreId);
  await consume(t.app);
  await takeBack(t.app, (await score(t, child, VERIFIED, 500)).scoreId);
  await consume(t.app, { kinds: ['void'] });
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([]);
  // Neither of them verified the wallet.
  await score(t, child, FREE, 500);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([]);
});

test('the cap of the day cuts, is not given back by a void, and is new at midnight', async () => {
  const [referrer, a = '', b = ''] = await family(2);
  const first = await score(t, a, VERIFIED, 6_000);
  await score(t, b, VERIFIED, 3_000);
  const cut = await score(t, b, VERIFIED, 2_500);
  await score(t, b, VERIFIED, 1_000);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([10, 30, 60]);
  for (const { scoreId } of [first, cut]) await takeBack(t.app, scoreId);
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

test('points are of the mode of their score, and the cap is one for both', async () => {
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
  await takeBack(t.app, beta.scoreId);
  await consume(t.app);
  expect(await standing(referrer)).toEqual(['beta 0', 'regular 60']);
  expect(await readSummary(t.app, referrer)).toMatchObject({ pointsEarned: 60, betaPointsEarned: 0 });
});

test('a banned referrer gets nothing, and what it got can still be taken back', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  await consume(t.app);
  await ban(referrer, '2031-01-01');
  await score(t, child, VERIFIED, 500);
  await takeBack(t.app, scoreId);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([-5, 5]);
  await ban(referrer, null);
});

test('a batch that is lost before its commit has its effect once when it comes again', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  for (let i = 0; i < 3; i++) await consume(t.app, { killed: true });
  expect([await pointsOf(referrer), await standing(referrer)]).toEqual([[], []]);
  await consume(t.app);
  await takeBack(t.app, scoreId);
  await consume(t.app, { killed: true });
  for (let i = 0; i < 3; i++) await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([-5, 5]);
  expect(await readSummary(t.app, referrer)).toMatchObject({ referralCount: 1, verifiedReferrals: 1, activeReferrals: 1, pointsEarned: 0 });
});

test('several processes that consume at once give once', async () => {
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

test('a batch of 1,000 costs a handful of statements, one where nobody was referred, and gives once if it came twice', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  const happened = (wallet: string): Happened => ({
    kind: 'score',
    sourceId: scoreId,
    wallet,
    gameId: VERIFIED,
    battleId: null,
    amount: 1n,
    day: 0,
    at: t.clock.now().getTime() + 1_000,
  });
  const count = async (activities: Happened[]) => {
    const names: string[] = [];
    await t.app.tx(async (tx) => {
      const open = await openDay(tx);
      const query = <Row>(asked: Statement<Row>, values?: readonly unknown[]) => {
        names.push(asked.name ?? '');
        return tx.query(asked, values);
      };
      await appendPoints(tx, open, await referralConsumer.consume(t.app, { ...tx, query }, open, activities));
    });
    return names.length;
  };
  const strangers = Array.from({ length: 1_000 }, () => happened(anyWallet()));
  expect(await count(strangers)).toBe(1);
  expect(await count([...strangers, happened(child)])).toBe(5);
  expect(await pointsOf(referrer)).toEqual([5]);
  expect(await count([...strangers, happened(child)])).toBeLessThan(5);
  expect(await pointsOf(referrer)).toEqual([5]);
  expect(await readSummary(t.app, referrer)).toMatchObject({ pointsEarned: 5 });
});
