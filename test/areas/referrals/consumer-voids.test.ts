import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { findGame } from '#areas/arcade/games/registry.ts';
import { restoreScore } from '#areas/arcade/scores/restore.ts';
import { readReferred, readStats, readSummary } from '#areas/referrals/stats.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { consume, FREE, ledgerOf, makeReferrals, registerGames, score, standingsOf, VERIFIED, voidTestScore } from '#test/support/areas/referrals.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { REFERRAL_DAILY_CAP: '100' } });
  await t.clock.set(new Date('2031-03-03T12:00:00Z'));
  await registerGames(t);
});
afterEach(async () => void (await consume(t.app)));
afterAll(() => t.close());

const family = (n: number) => makeReferrals(t.app, n);
const pointsOf = async (wallet: string) => (await ledgerOf(t.app, wallet)).map(({ points }) => points);
const standing = (wallet: string, board?: string) => standingsOf(t.app, wallet, board);

test('a void subtracts exactly the share of its score', async () => {
  const [referrer, child = ''] = await family(1);
  const [first, second] = [await score(t, child, VERIFIED, 500), await score(t, child, VERIFIED, 300)];
  await consume(t.app);
  await voidTestScore(t.app, first?.scoreId ?? '');
  await consume(t.app);
  expect((await ledgerOf(t.app, referrer)).map(({ reason, points, sourceId }) => [reason, points, sourceId])).toEqual([
    ['referral-void', -5, first?.scoreId],
    ['referral', 3, second?.scoreId],
    ['referral', 5, first?.scoreId],
  ]);
  expect(await standing(referrer)).toEqual(['regular 3']);
});

test('a restored score gives its share back and verifies the wallet again, and a second void takes the share back once', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  await consume(t.app);
  const game = await findGame(t.app, VERIFIED);
  if (!game) throw new Error('the game was not found');
  const state = async () => [await standing(referrer), (await readSummary(t.app, referrer)).verifiedReferrals];
  await voidTestScore(t.app, scoreId);
  await consume(t.app);
  expect((await state())[1]).toBe(0);
  await restoreScore(t.app, game, scoreId, { by: 'test', reason: 'a test' });
  await consume(t.app, { killed: true });
  await consume(t.app);
  await consume(t.app);
  expect(await state()).toEqual([['regular 5'], 1]);
  await voidTestScore(t.app, scoreId);
  await consume(t.app);
  expect((await state())[1]).toBe(0);
  const rows = await ledgerOf(t.app, referrer);
  expect(Object.fromEntries(rows.map(({ reason, points }) => [reason, points]))).toEqual({
    ...{ referral: 5, 'referral-void': -5, 'referral-restore': 5, 'referral-second-void': -5 },
  });
});

test('a score that was restored with fewer points before its share was given gives a share of the fewer points', async () => {
  const [referrer, child = ''] = await family(1);
  const { scoreId } = await score(t, child, VERIFIED, 500);
  const game = await findGame(t.app, VERIFIED);
  if (!game) throw new Error('the game was not found');
  await voidTestScore(t.app, scoreId);
  await restoreScore(t.app, { ...game, caps: { ...game.caps, dailyPoints: 20 } }, scoreId, { by: 'test', reason: 'a test' });
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([2]);
});

test('a wallet is no longer verified after a void of its last verified score, until the next verified score', async () => {
  const [referrer, child = ''] = await family(1);
  const verified = async () => [(await readSummary(t.app, referrer)).verifiedReferrals, (await readStats(t.app, referrer)).conversion.percent];
  const scores = [await score(t, child, VERIFIED, 500), await score(t, child, FREE, 400), await score(t, child, VERIFIED, 300)];
  await consume(t.app);
  expect(await verified()).toEqual([1, 100]);
  await voidTestScore(t.app, scores[0]?.scoreId ?? '');
  await consume(t.app);
  expect(await verified()).toEqual([1, 100]);
  await voidTestScore(t.app, scores[2]?.scoreId ?? '');
  await score(t, child, FREE, 600);
  await consume(t.app);
  expect(await verified()).toEqual([0, 0]);
  expect((await readReferred(t.app.db, referrer, 10, 0)).referred).toMatchObject([{ wallet: child, verifiedAt: null, points: 4 }]);
  expect(await pointsOf(referrer)).toEqual([-5, -3, 3, 4, 5]);
  await score(t, child, VERIFIED, 700);
  await consume(t.app);
  expect(await verified()).toEqual([1, 100]);
  expect(await pointsOf(referrer)).toEqual([-5, -3, 3, 4, 5, 7]);
});

test('a voided score gives no share when the void is consumed with it or before it', async () => {
  const [referrer, child = ''] = await family(1);
  await voidTestScore(t.app, (await score(t, child, VERIFIED, 500)).scoreId);
  await consume(t.app);
  await voidTestScore(t.app, (await score(t, child, VERIFIED, 500)).scoreId);
  await consume(t.app, { kinds: ['void'] });
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([]);
  // The two voided scores must not verify the wallet.
  await score(t, child, FREE, 500);
  await consume(t.app);
  expect(await pointsOf(referrer)).toEqual([]);
});
