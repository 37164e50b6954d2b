import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Compilable } from 'kysely';
import { type RankedLine, rebuildBoard, refreshBoards } from '#areas/points';
import { findOrCreateLink } from '#areas/referrals/links.ts';
import { ReferralStats, ReferralSummary, ReferredWallet } from '#areas/referrals/schemas.ts';
import {
  countReferred,
  readReferred,
  readStats,
  readSummary,
  selectDays,
  selectLinks,
  selectReferred,
  selectTop,
  selectTotals,
} from '#areas/referrals/stats.ts';
import type { Statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';
import { bindTo, consume, FREE, join, makeReferrals, registerGames, score, VERIFIED, voidTestScore } from '#test/support/areas/referrals.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { signIn } from '#test/support/wallet.ts';

const DAY_MS = 86_400_000;
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { REFERRAL_DAILY_CAP: '100' } });
  await t.clock.set(new Date('2031-03-03T12:00:00Z'));
  await registerGames(t);
});
afterAll(() => t.close());

test('the referral leaderboard lists points by period and page, before and after a rebuild', async () => {
  await t.clock.set(new Date(t.clock.now().getTime() + 400 * DAY_MS));
  const [[best, ...ofBest], [second, ofSecond = '']] = [await makeReferrals(t.app, 2), await makeReferrals(t.app, 1)];
  for (const child of ofBest) await score(t, child, VERIFIED, 400);
  await score(t, ofSecond, VERIFIED, 300);
  await consume(t.app);
  const page = async (query: string) => {
    const response = await fetch(`${t.url}/game/referral/leaderboard?${query}`);
    return [response.status, response.headers.get('X-Total-Count'), (await response.json()) as RankedLine[]] as const;
  };
  const list = [
    { rank: 1, wallet: best, score: 8 },
    { rank: 2, wallet: second, score: 3 },
  ];
  for (const shown of ['by SQL', 'from Redis']) {
    if (shown === 'from Redis') await rebuildBoard(t.app, 'referrals');
    expect(await page('period=year')).toMatchObject([200, '2', list]);
    expect(await page('period=day&limit=1&offset=1')).toMatchObject([200, '2', [list[1]]]);
    const [, total, all] = await page('');
    expect([Number(total), all.length]).toEqual([all.length, all.length]);
    expect(all.find(({ wallet }) => wallet === best)?.score).toBe(8);
  }
  await score(t, ofSecond, VERIFIED, 700);
  await consume(t.app);
  await refreshBoards(t.app);
  expect((await page('period=year'))[2][0]).toMatchObject({ rank: 1, wallet: second, score: 10 });
  for (const query of ['limit=0', 'period=eon', 'at=2031-01-01']) expect((await page(query))[0]).toBe(400);
  expect((await page('around=me'))[0]).toBe(401);
});

test('the statistics list points per link, per day and per referred wallet', async () => {
  const me = await signIn(t);
  const children = Array.from({ length: 4 }, () => randomWallet());
  for (const child of children) {
    await join(t.app, child);
    await bindTo(t.app, me.wallet, child);
  }
  const [a = '', b = '', c = '', d = ''] = children;
  await score(t, a, VERIFIED, 1_000);
  await score(t, b, FREE, 500);
  await consume(t.app);
  await t.clock.set(new Date(t.clock.now().getTime() + 10 * DAY_MS));
  await score(t, c, VERIFIED, 700);
  await consume(t.app);
  const stats = await readStats(t.app, me.wallet);
  expect(ReferralStats.parse(stats)).toMatchObject({
    links: [{ bindings: 4, verified: 2 }],
    conversion: { bound: 4, verified: 2, percent: 50 },
    active: { last7Days: 1, last30Days: 3 },
    earnings: {
      points: 17,
      betaPoints: 0,
      topWallets: [
        { wallet: a, points: 10 },
        { wallet: c, points: 7 },
      ],
    },
    today: { used: 7, left: 93 },
  });
  expect(stats.earnings.byDay.map(({ points }) => points)).toEqual([
    ...Array.from({ length: 19 }, () => 0),
    10,
    ...Array.from({ length: 9 }, () => 0),
    7,
  ]);
  expect(ReferralSummary.parse(await readSummary(t.app, me.wallet))).toEqual({
    ...{ referralCount: 4, verifiedReferrals: 2, activeReferrals: 3, pointsEarned: 17, betaPointsEarned: 0, referredBy: null },
  });
  const { referred, total } = await readReferred(t.app.db, me.wallet, 50, 0);
  expect([total, referred.map((one) => ReferredWallet.parse(one).wallet)]).toEqual([4, [d, c, b, a]]);
  expect(referred.map(({ active, points, verifiedAt }) => [active, points, verifiedAt !== null])).toEqual([
    [false, 0, false],
    [true, 7, true],
    [true, 0, false],
    [true, 10, true],
  ]);
  expect((await readReferred(t.app.db, me.wallet, 2, 1)).referred.map(({ wallet }) => wallet)).toEqual([c, b]);
  await t.clock.set(new Date(t.clock.now().getTime() + 35 * DAY_MS));
  expect(await readSummary(t.app, me.wallet)).toMatchObject({ activeReferrals: 0, pointsEarned: 17 });
});

test('a day on which more points were voided than earned has negative points in the statistics', async () => {
  const me = await signIn(t);
  const child = randomWallet();
  await join(t.app, child);
  await bindTo(t.app, me.wallet, child);
  const { scoreId } = await score(t, child, VERIFIED, 1_000);
  await consume(t.app);
  await t.clock.set(new Date(t.clock.now().getTime() + DAY_MS));
  await voidTestScore(t.app, scoreId);
  await consume(t.app);
  const { earnings } = await jsonOf(me.fetch('/api/referral/stats'), ReferralStats);
  expect([earnings.points, ...earnings.byDay.slice(-2).map(({ points }) => points)]).toEqual([0, 10, -10]);
});

test('the queries of a wallet with 500 referrals use indexes', async () => {
  const me = await signIn(t);
  const { code } = await findOrCreateLink(t.app, me.wallet);
  await sql(
    t.app,
    `insert into referrals (wallet, referrer, code, points) select 'w' || i, case when i <= 500 then $1 else 'other' || i % 500 end, $2, i from generate_series(1, 30000) i`,
    [me.wallet, code],
  );
  await sql(
    t.app,
    `insert into referral_days (referrer, day, used, points) select 'other' || i % 500, i / 500, 1, 1 from generate_series(1, 30000) i`,
  );
  await sql(t.app, 'analyze referrals, referral_days, referral_links');
  const planOf = async ({ text }: Statement<unknown>, values: readonly unknown[]) =>
    (await sql<Record<'QUERY PLAN', string>>(t.app, `explain ${text}`, values)).map((row) => row['QUERY PLAN']).join('\n');
  const planOfBuilt = (query: Compilable) => {
    const { sql: text, parameters } = query.compile();
    return planOf({ text }, parameters);
  };
  const plans = await Promise.all([
    planOf(selectTotals, [me.wallet]),
    planOf(selectLinks, [me.wallet]),
    planOfBuilt(selectTop(me.wallet)),
    planOfBuilt(selectReferred(me.wallet, 50, 0)),
    planOfBuilt(countReferred(me.wallet)),
  ]);
  for (const plan of plans) expect(plan).toMatch(/on referrals_referrer|using referrals_referrer/);
  expect(await planOfBuilt(selectDays(me.wallet, 1))).toMatch(/referral_days_pkey/);
  for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on (?:referrals|referral_days)/);
  expect(await jsonOf(me.fetch('/api/referral/summary'), ReferralSummary)).toMatchObject({ referralCount: 500, pointsEarned: (500 * 501) / 2 });
  const page = await me.fetch('/api/referral/referred?limit=500');
  expect([page.headers.get('X-Total-Count'), ((await page.json()) as unknown[]).length]).toEqual(['500', 500]);
  expect((await me.fetch('/api/referral/stats')).status).toBe(200);
});
