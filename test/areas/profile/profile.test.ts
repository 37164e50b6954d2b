import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { z } from 'zod';
import { createPayments } from '#areas/payouts';
import { BetaPoints, BetaStats, PointsBreakdown, Profile } from '#areas/profile/schemas.ts';
import { linkAccount } from '#areas/social';
import { statement } from '#platform/db/sql.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { recordScores, setBeta } from '#test/support/areas/beta.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import { asAdmin } from '#test/support/areas/epochs.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { DAILY_POINTS_CAP: '100000' } });
  for (const id of ['alpha', 'beta', 'gamma', 'constructor']) {
    await registerGame(t.url, ADMIN_TOKEN, id, { ...TEST_GAME, verification: 'none' });
  }
});
afterAll(() => t.close());

const get = async <Shape extends z.ZodType>(player: SignedIn, path: string, shape: Shape) => await jsonOf(player.fetch(path), shape);
const profileOf = (player: SignedIn) => get(player, '/api/profile', Profile);
const breakdownOf = (player: SignedIn) => get(player, '/debug/points', PointsBreakdown);
const void_ = (scoreId: string | undefined) => asAdmin(t, `/admin/scores/${scoreId}/void`, { json: { reason: 'a test' } });

/** Signs in a wallet with regular and beta points of every kind, some voided, some converted. */
async function livePlayer(): Promise<SignedIn> {
  const player = await signIn(t);
  const { wallet } = player;
  const [, wrong] = await recordScores(t.app, wallet, [
    { gameId: 'alpha', score: 5_000 },
    { gameId: 'alpha', score: 9_000 },
    { gameId: 'constructor', score: 2_000 },
  ]);
  await givePoints(t.app, { wallet, kind: 'quest', points: 30 });
  await givePoints(t.app, { wallet, kind: 'referral', points: 7 });
  expect((await void_(wrong)).status).toBe(200);
  await setBeta(player, true);
  await recordScores(t.app, wallet, [
    { gameId: 'alpha', score: 10_000 },
    { gameId: 'gamma', score: 4_000 },
  ]);
  await givePoints(t.app, { wallet, kind: 'quest', points: 11, mode: 'beta' });
  const converted = await asAdmin(t, '/api/beta/convert', { json: { wallet, rate: '0.5' } });
  expect([converted.status, await converted.json()]).toMatchObject([200, { betaPoints: 151, points: 75 }]);
  await recordScores(t.app, wallet, [{ gameId: 'gamma', score: 6_000 }]);
  return player;
}

test('a profile contains points, rank, balances, pending payments, links, games and the first sign-in', async () => {
  const player = await livePlayer();
  const { wallet } = player;
  await t.app.tx(async (tx) => {
    await createPayments(t.app, tx, [
      { wallet, currency: 'usdc', amount: 25_000_000n, cause: { kind: 'prize', id: randomUUID() } },
      { wallet, currency: 'usdc', amount: 5n, cause: { kind: 'prize', id: randomUUID() } },
    ]);
    await linkAccount(tx, { platform: 'x', accountId: randomUUID(), handle: 'ada', wallet });
    await linkAccount(tx, { platform: 'twitch', accountId: randomUUID(), handle: 'ada_plays', wallet });
  });
  const profile = await profileOf(player);
  const rank = (await (await player.fetch('/leaderboard/global/rank')).json()) as { rank: number; percentile: number; score: number };
  expect(profile).toEqual({
    wallet,
    memberSince: expect.stringMatching(/Z$/),
    points: { total: 182, today: 107, week: 107, sources: { games: 70, quests: 30, referrals: 7, adjustments: 0, conversions: 75 } },
    rank: rank.rank,
    percentile: rank.percentile,
    tokenBalance: null,
    eligible: true,
    pendingPayments: { usdc: { amount: '25000005', payments: 2 }, reward: { amount: '0', payments: 0 } },
    linkedAccounts: [
      { platform: 'twitch', handle: 'ada_plays', linkedAt: expect.stringMatching(/Z$/) },
      { platform: 'x', handle: 'ada', linkedAt: expect.stringMatching(/Z$/) },
    ],
    beta: { enabled: true, points: 60 },
    games: {
      played: 2,
      scores: 2,
      top: [
        { gameId: 'alpha', best: 5_000, scores: 1, points: 50 },
        { gameId: 'constructor', best: 2_000, scores: 1, points: 20 },
      ],
    },
    sanctions: [],
  });
  expect(rank.score).toBe(profile.points.total);
});

test('a new wallet has an empty profile', async () => {
  const profile = await profileOf(await signIn(t));
  expect(profile).toMatchObject({
    points: { total: 0, today: 0, week: 0, sources: { games: 0, quests: 0, referrals: 0, adjustments: 0, conversions: 0 } },
    rank: null,
    percentile: null,
    linkedAccounts: [],
    beta: { enabled: false, points: 0 },
    games: { played: 0, scores: 0, top: [] },
  });
});

test('a profile lists the five games with the best scores', async () => {
  for (let i = 0; i < 7; i++) await registerGame(t.url, ADMIN_TOKEN, `many-${i}`, { ...TEST_GAME, verification: 'none' });
  const player = await signIn(t);
  await recordScores(
    t.app,
    player.wallet,
    Array.from({ length: 7 }, (_, i) => ({ gameId: `many-${i}`, score: 1_000 + i })),
  );
  const { games } = await profileOf(player);
  expect([games.played, games.scores, games.top.map(({ gameId }) => gameId)]).toEqual([7, 7, ['many-6', 'many-5', 'many-4', 'many-3', 'many-2']]);
});

test('beta points are listed by source and game, converted and not', async () => {
  const player = await livePlayer();
  expect(await get(player, '/api/profile/beta-points', BetaPoints)).toEqual({
    total: 60,
    earned: 211,
    converted: 151,
    sources: { games: 200, quests: 11, referrals: 0, adjustments: 0, conversions: -151 },
    games: [
      { gameId: 'alpha', best: 10_000, scores: 1, points: 100 },
      { gameId: 'gamma', best: 6_000, scores: 2, points: 100 },
    ],
  });
});

test('beta stats contain the results in beta mode and the conversions', async () => {
  const player = await livePlayer();
  expect(await get(player, '/api/profile/beta-stats', BetaStats)).toEqual({
    enabled: true,
    points: { total: 60, earned: 211, today: 211, week: 211 },
    gamesPlayed: 2,
    scores: 3,
    converted: {
      betaPoints: 151,
      points: 75,
      conversions: [{ id: expect.any(String), rate: '0.5', betaPoints: 151, points: 75, revoked: false, at: expect.stringMatching(/Z$/) }],
    },
  });
});

test('the beta total is the same number in every answer, also after a conversion', async () => {
  const player = await signIn(t);
  await setBeta(player, true);
  await givePoints(t.app, { wallet: player.wallet, points: 40, mode: 'beta' });
  const totals = async () => {
    const [profile, points, stats, { beta }] = [
      await profileOf(player),
      await get(player, '/api/profile/beta-points', BetaPoints),
      await get(player, '/api/profile/beta-stats', BetaStats),
      await breakdownOf(player),
    ];
    expect(Object.values(points.sources).reduce((sum, part) => sum + part, 0)).toBe(points.total);
    expect([points.earned, stats.points.earned]).toEqual([points.total + points.converted, points.total + stats.converted.betaPoints]);
    return [profile.beta.points, points.total, stats.points.total, beta.total];
  };
  expect(await totals()).toEqual([40, 40, 40, 40]);
  const converted = await asAdmin(t, '/api/beta/convert', { json: { wallet: player.wallet } });
  expect(await converted.json()).toMatchObject({ betaPoints: 40, betaTotal: 0 });
  expect(await totals()).toEqual([0, 0, 0, 0]);
  await givePoints(t.app, { wallet: player.wallet, points: 5, mode: 'beta' });
  expect(await totals()).toEqual([5, 5, 5, 5]);
});

test('the breakdown of both modes by source, period and game adds up to the ledger', async () => {
  const player = await livePlayer();
  const { regular, beta, mode, wallet } = await breakdownOf(player);
  expect([mode, wallet]).toEqual(['beta', player.wallet]);
  const same = (games: number, quests: number, referrals: number) => {
    const sums = { points: games + quests + referrals, games, quests, referrals, adjustments: 0 };
    return { day: sums, week: sums, month: sums, year: sums };
  };
  expect(regular).toMatchObject({ total: 182, sources: { games: 70, quests: 30, referrals: 7, conversions: 75 }, periods: same(70, 30, 7) });
  expect(beta).toMatchObject({ total: 60, sources: { games: 200, quests: 11, referrals: 0, conversions: -151 }, periods: same(200, 11, 0) });
  const kinds = await sql<{ mode: string; kind: string; points: number }>(
    t.app,
    'select mode, kind, sum(points)::float8 as points from ledger where wallet = $1 group by 1, 2 order by 1, 2',
    [player.wallet],
  );
  expect(kinds).toEqual([
    { mode: 'beta', kind: 'conversion', points: -151 },
    { mode: 'beta', kind: 'game', points: 200 },
    { mode: 'beta', kind: 'quest', points: 11 },
    { mode: 'regular', kind: 'conversion', points: 75 },
    { mode: 'regular', kind: 'game', points: 70 },
    { mode: 'regular', kind: 'quest', points: 30 },
    { mode: 'regular', kind: 'referral', points: 7 },
  ]);
});

test('points of yesterday count for all time but not for today', async () => {
  const player = await livePlayer();
  const now = t.clock.now();
  try {
    await t.clock.set(new Date(now.getTime() + 6 * 86_400_000));
    expect((await profileOf(player)).points).toMatchObject({ total: 182, today: 0 });
    expect((await breakdownOf(player)).regular.periods.day).toEqual({ points: 0, games: 0, quests: 0, referrals: 0, adjustments: 0 });
    await recordScores(t.app, player.wallet, [{ gameId: 'alpha', score: 1_000 }]);
    expect((await breakdownOf(player)).beta).toMatchObject({ total: 70, periods: { day: { points: 10, games: 10 } } });
  } finally {
    await t.clock.set(now);
  }
});

test('profile and beta endpoints require a session', async () => {
  for (const path of ['/api/profile', '/api/profile/beta-points', '/api/profile/beta-stats', '/api/beta/preference', '/debug/points']) {
    expect((await send(t, path)).status).toBe(401);
  }
  expect((await send(t, '/api/beta/preference', { json: {} })).status).toBe(401);
});

test('scores that a moderator accepts count like other scores', async () => {
  await registerGame(t.url, ADMIN_TOKEN, 'doubted', { ...TEST_GAME, verification: 'none' });
  const player = await signIn(t);
  await setBeta(player, true);
  const [scoreId] = await recordScores(t.app, player.wallet, [{ gameId: 'doubted', score: 8_000 }]);
  await sql(t.app, `update scores set status = 'held', points = 0 where id = $1`, [scoreId]);
  await sql(t.app, `update players set tally = '{}' where wallet = $1`, [player.wallet]);
  await setBeta(player, false);
  expect((await asAdmin(t, `/admin/scores/${scoreId}/decision`, { json: { decision: 'accept' } })).status).toBe(200);
  const { regular, beta } = await breakdownOf(player);
  expect(beta.games).toEqual([{ gameId: 'doubted', best: 8_000, scores: 1, points: expect.any(Number) }]);
  expect(regular.games).toEqual([]);
});

test('the profile of a wallet with 10,000 ledger rows reads counters by their keys', async () => {
  const player = await signIn(t);
  const { wallet } = player;
  await recordScores(t.app, wallet, [{ gameId: 'alpha', score: 5_000 }]);
  await sql(
    t.app,
    `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
     select $1, 'regular', 'game', 'test', 'test', gen_random_uuid()::text, 1, true, app_day(), app_now(), 0 from generate_series(1, 10000)`,
    [wallet],
  );
  await sql(
    t.app,
    `insert into standings (board, mode, wallet, version, total, day, day_value, week, week_value, month, month_value, year, year_value)
     select 'global', mode, 'w' || i, 1, i, 1, 1, 1, 1, 1, 1, 1, 1 from generate_series(1, 5000) i, unnest(array['regular', 'beta']) as m(mode)`,
  );
  await sql(t.app, 'analyze standings, players, ledger');
  // The rows inserted directly into the ledger do not change the total, because the profile reads the standings.
  expect((await profileOf(player)).points.total).toBe(50);

  const plan = async (name: string, text: string, seqscan: 'on' | 'off') => {
    const rows = await t.app.tx(async (tx) => {
      await tx.query(statement(`test_seqscan_${seqscan}`, `set local enable_seqscan = ${seqscan}`));
      return await tx.query(statement<Record<'QUERY PLAN', string>>(`test_explain_${name}`, `explain ${text}`));
    });
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  const found = await plan(
    'holder',
    `select p.tally, (select json_agg(s) from unnest(array['global', 'quests', 'game:alpha']) as k(board), unnest(array['regular', 'beta']) as m(mode), lateral (
       select s.total from standings s where s.board = k.board and s.mode = m.mode and s.wallet = '${wallet}' offset 0) s)
     from players p where p.wallet = '${wallet}'`,
    'on',
  );
  expect(found).toMatch(/standings_pkey/);
  expect(found).not.toMatch(/Seq Scan on standings|ledger/);
  const conversions = await plan(
    'conversions',
    `select id from beta_conversions where wallet = '${wallet}' order by at desc, id desc limit 20`,
    'off',
  );
  expect(conversions).toMatch(/beta_conversions_wallet/);
});
