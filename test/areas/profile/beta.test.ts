import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readPage, readRank, refreshBoards } from '#areas/points';
import { convertPoints } from '#areas/profile/convert.ts';
import { ConversionResult, PointsBreakdown } from '#areas/profile/schemas.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { balanceOf, recordScores, setBeta } from '#test/support/areas/beta.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import { asAdmin, randomWallet, statusAndBody } from '#test/support/areas/epochs.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

const NARROW = 'content-token-0123456789';
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ADMIN_TOKENS: `${ADMIN_TOKEN},ada:content:${NARROW}`, DAILY_POINTS_CAP: '1000000' } });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha', { ...TEST_GAME, verification: 'none' });
});
afterAll(() => t.close());

const prefer = (player: SignedIn, json: unknown, key?: string) =>
  statusAndBody(player.fetch('/api/beta/preference', { json, headers: key ? { 'Idempotency-Key': key } : {} }));
const convert = (json: unknown, headers: Record<string, string> = {}) => asAdmin(t, '/api/beta/convert', { json, headers });
const convertOf = (wallet: string, rate?: string) => jsonOf(convert({ wallet, ...(rate ? { rate } : {}) }), ConversionResult);
const conversionsOf = async (wallet: string) => {
  const [row] = await sql<{ n: number; beta: number; points: number }>(
    t.app,
    `select count(*)::int as n, coalesce(sum(beta_points), 0)::float8 as beta, coalesce(sum(points), 0)::float8 as points
     from beta_conversions where wallet = $1`,
    [wallet],
  );
  return row;
};

/** Signs in a wallet in beta mode and gives it beta points. */
async function betaPlayer(points: number): Promise<SignedIn> {
  const player = await signIn(t);
  await setBeta(player, true);
  if (points !== 0) await givePoints(t.app, { wallet: player.wallet, points, mode: 'beta' });
  return player;
}

test('the beta preference is off by default, can be toggled, and can be set', async () => {
  const player = await signIn(t);
  const read = () => statusAndBody(player.fetch('/api/beta/preference'));
  const [on, off] = [
    [200, { enabled: true }],
    [200, { enabled: false }],
  ];
  expect(await read()).toEqual(off);
  expect(await prefer(player, {})).toEqual(on);
  expect(await read()).toEqual(on);
  expect(await prefer(player, {})).toEqual(off);
  expect(await prefer(player, { enabled: true })).toEqual(on);
  expect(await prefer(player, { enabled: true })).toEqual(on);
  expect(await prefer(player, { enabled: false })).toEqual(off);
  expect(await statusAndBody(player.fetch('/api/beta/preference', { method: 'POST' }))).toEqual(on);
});

test('a repeated toggle with one Idempotency-Key toggles once, and another request with it is refused', async () => {
  const player = await signIn(t);
  const answers = await Promise.all(Array.from({ length: 5 }, () => prefer(player, {}, 'one-tap')));
  expect(answers).toEqual(Array.from({ length: 5 }, () => [200, { enabled: true }]));
  expect((await prefer(player, { enabled: false }, 'one-tap'))[0]).toBe(409);
  expect(await statusAndBody(player.fetch('/api/beta/preference'))).toEqual([200, { enabled: true }]);
});

test('an invalid beta preference is refused', async () => {
  const player = await signIn(t);
  expect(await prefer(player, { enabled: 'yes' })).toEqual([400, { error: 'enabled must be true or false' }]);
  expect((await prefer(player, { on: true }))[0]).toBe(400);
});

test('the preference decides the mode of a score, and public boards contain no beta points', async () => {
  const player = await signIn(t);
  const { wallet } = player;
  await recordScores(t.app, wallet, [{ gameId: 'alpha', score: 2_000 }]);
  await setBeta(player, true);
  await recordScores(t.app, wallet, [{ gameId: 'alpha', score: 9_000 }]);
  expect([await balanceOf(t.app, wallet, 'regular'), await balanceOf(t.app, wallet, 'beta')]).toEqual([20, 90]);
  expect(await readRank(t.app, 'global', { span: 'all', wallet })).toMatchObject({ score: 20 });
  expect(await readRank(t.app, 'game:alpha', { span: 'all', wallet })).toMatchObject({ score: 2_000 });
});

test('with concurrent scores and toggles, each score belongs to one mode', async () => {
  const player = await signIn(t);
  const { wallet } = player;
  await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      i % 2 === 0 ? prefer(player, {}) : recordScores(t.app, wallet, [{ gameId: 'alpha', score: 1_000 + i * 100 }]),
    ),
  );
  const torn = await sql(
    t.app,
    `select s.id from scores s full join ledger l on l.source_id = s.id::text and l.wallet = s.wallet
     where coalesce(s.wallet, l.wallet) = $1 and (s.mode is distinct from l.mode or s.points is distinct from l.points::int)`,
    [wallet],
  );
  expect(torn).toEqual([]);
  const bests = await sql<{ mode: string; same: boolean }>(
    t.app,
    `select s.mode, max(s.normalized) = b.total as same from scores s join standings b on b.board = 'game:alpha' and b.wallet = s.wallet and b.mode = s.mode
     where s.wallet = $1 group by s.mode, b.total`,
    [wallet],
  );
  expect(bests.every(({ same }) => same)).toBe(true);
  const { regular, beta } = await jsonOf(player.fetch('/debug/points'), PointsBreakdown);
  expect([...regular.games, ...beta.games].reduce((sum, { scores }) => sum + scores, 0)).toBe(20);
  expect([regular.sources.games, beta.sources.games]).toEqual([await balanceOf(t.app, wallet, 'regular'), await balanceOf(t.app, wallet, 'beta')]);
});

test.each([
  [7, '1', 7n],
  [7, '0.5', 3n],
  [1, '0.999999', 0n],
  [1_000_000, '0.000001', 1n],
  [3, '1000', 3_000n],
  [10, '1.15', 11n],
  [9_007_199_254_740_991, '1000', 9_007_199_254_740_991_000n],
])('%i beta points at the rate %s are %s points', (points, rate, expected) => {
  expect(convertPoints(points, rate)).toBe(expected);
});

test('a conversion moves all beta points once, at its rate, rounded down, and is stored', async () => {
  const player = await betaPlayer(151);
  const { wallet } = player;
  await givePoints(t.app, { wallet, points: 20 });
  const first = await convert({ wallet, rate: '0.5' });
  const result = ConversionResult.parse(await first.json());
  expect([first.status, result]).toEqual([
    200,
    { id: expect.any(String), wallet, rate: '0.5', betaPoints: 151, points: 75, betaTotal: 0, total: 95 },
  ]);
  expect([await balanceOf(t.app, wallet, 'regular'), await balanceOf(t.app, wallet, 'beta')]).toEqual([95, 0]);
  const rows = await sql(
    t.app,
    `select mode, kind, reason, source, source_id, points::int as points, rewards from ledger where wallet = $1 and kind = 'conversion' order by mode`,
    [wallet],
  );
  const entry = { kind: 'conversion', reason: 'conversion', source: 'conversion', source_id: result.id, rewards: false };
  expect(rows).toEqual([
    { ...entry, mode: 'beta', points: -151 },
    { ...entry, mode: 'regular', points: 75 },
  ]);
  const kept = await sql(t.app, 'select id, rate::float8 as rate, converted_by as by from beta_conversions where wallet = $1', [wallet]);
  expect(kept).toEqual([{ id: result.id, rate: 0.5, by: expect.any(String) }]);
  await expect(sql(t.app, 'delete from beta_conversions where wallet = $1', [wallet])).rejects.toThrow();

  expect(await convertOf(wallet)).toEqual({ id: null, wallet, rate: '1', betaPoints: 0, points: 0, betaTotal: 0, total: 95 });
  await givePoints(t.app, { wallet, points: 4, mode: 'beta' });
  expect(await convertOf(wallet)).toMatchObject({ rate: '1', betaPoints: 4, points: 4, betaTotal: 0, total: 99 });
});

test('converted points count for all time but for no period', async () => {
  const { wallet } = await betaPlayer(500);
  await convertOf(wallet);
  await refreshBoards(t.app);
  expect(await readRank(t.app, 'global', { span: 'all', wallet })).toMatchObject({ score: 500 });
  for (const span of ['day', 'week', 'month', 'year'] as const) expect((await readRank(t.app, 'global', { span, wallet })).rank).toBeNull();
  const { entries } = await readPage(t.app, 'global', { span: 'day', limit: 500, offset: 0 });
  expect(entries.map((entry) => entry.wallet)).not.toContain(wallet);
});

test('a conversion without beta points changes nothing', async () => {
  const none = await betaPlayer(0);
  expect(await convertOf(none.wallet)).toMatchObject({ id: null, points: 0, betaTotal: 0, total: 0 });
  const negative = await betaPlayer(-5);
  expect(await convertOf(negative.wallet, '1000')).toMatchObject({ id: null, points: 0, betaTotal: -5 });
  const little = await betaPlayer(1);
  expect(await convertOf(little.wallet, '0.5')).toMatchObject({ id: null, betaPoints: 0, points: 0, betaTotal: 1 });
  for (const { wallet } of [none, negative, little]) expect(await conversionsOf(wallet)).toMatchObject({ n: 0 });
});

test('after a converted score is voided, later beta points first cover the negative balance', async () => {
  const player = await betaPlayer(0);
  const { wallet } = player;
  const [scoreId] = await recordScores(t.app, wallet, [{ gameId: 'alpha', score: 8_000 }]);
  await convertOf(wallet);
  expect((await asAdmin(t, `/admin/scores/${scoreId}/void`, { json: { reason: 'a test' } })).status).toBe(200);
  expect(await convertOf(wallet)).toMatchObject({ id: null, betaTotal: -80, total: 80 });
  await givePoints(t.app, { wallet, points: 100, mode: 'beta' });
  expect(await convertOf(wallet)).toMatchObject({ betaPoints: 20, points: 20, betaTotal: 0, total: 100 });
});

test('fifty concurrent conversions convert once', async () => {
  const { wallet } = await betaPlayer(1_000);
  const results = await Promise.all(Array.from({ length: 50 }, () => convertOf(wallet, '2')));
  expect(results.filter(({ id }) => id !== null)).toHaveLength(1);
  expect(results.every(({ betaTotal, total }) => betaTotal === 0 && total === 2_000)).toBe(true);
  expect(await conversionsOf(wallet)).toEqual({ n: 1, beta: 1_000, points: 2_000 });
});

test('a repeated conversion with one Idempotency-Key gets the same response, and another conversion with it is refused', async () => {
  const { wallet } = await betaPlayer(10);
  const first = await convert({ wallet }, { 'Idempotency-Key': wallet });
  await givePoints(t.app, { wallet, points: 5, mode: 'beta' });
  const again = await convert({ wallet }, { 'Idempotency-Key': wallet });
  expect([again.status, await again.json()]).toEqual([200, await first.json()]);
  expect(await conversionsOf(wallet)).toMatchObject({ n: 1 });
  expect((await convert({ wallet, rate: '2' }, { 'Idempotency-Key': wallet })).status).toBe(409);
});

test('with concurrent scores, voids, toggles and conversions, every beta point is converted at most once', async () => {
  const player = await betaPlayer(0);
  const { wallet } = player;
  const ids = await recordScores(
    t.app,
    wallet,
    Array.from({ length: 10 }, () => ({ gameId: 'alpha', score: 5_000 })),
  );
  await Promise.all(
    Array.from({ length: 60 }, (_, i) => {
      if (i % 3 === 0) return recordScores(t.app, wallet, [{ gameId: 'alpha', score: 1_000 + i }]);
      if (i % 3 === 1) return convertOf(wallet);
      if (i % 4 === 0) return prefer(player, {});
      return i < 30
        ? asAdmin(t, `/admin/scores/${ids[i % 10]}/void`, { json: { reason: 'a test' } })
        : givePoints(t.app, { wallet, points: 3, mode: 'beta' });
    }),
  );
  const [sums] = await sql<{ earned: number; converted: number; received: number }>(
    t.app,
    `select coalesce(sum(points) filter (where mode = 'beta' and kind <> 'conversion'), 0)::float8 as earned,
            -coalesce(sum(points) filter (where mode = 'beta' and kind = 'conversion'), 0)::float8 as converted,
            coalesce(sum(points) filter (where mode = 'regular' and kind = 'conversion'), 0)::float8 as received
     from ledger where wallet = $1`,
    [wallet],
  );
  const { regular, beta } = await jsonOf(player.fetch('/debug/points'), PointsBreakdown);
  expect(sums?.converted).toBe(sums?.received);
  expect(beta.total).toBe((sums?.earned ?? 0) - (sums?.converted ?? 0));
  expect(regular.sources.conversions).toBe(sums?.converted);
  expect(await conversionsOf(wallet)).toMatchObject({ beta: sums?.converted, points: sums?.received });
  expect([regular.total, beta.total]).toEqual([await balanceOf(t.app, wallet, 'regular'), await balanceOf(t.app, wallet, 'beta')]);
});

test('a conversion needs a money token, a known wallet and a valid rate', async () => {
  const { wallet } = await betaPlayer(10);
  expect((await send(t, '/api/beta/convert', { json: { wallet } })).status).toBe(403);
  expect((await send(t, '/api/beta/convert', { json: { wallet }, headers: { Authorization: `Bearer ${NARROW}` } })).status).toBe(403);
  expect(await statusAndBody(convert({ wallet: randomWallet() }))).toEqual([404, { error: 'the wallet has never signed in' }]);
  expect((await statusAndBody(convert({ wallet: 'nobody' })))[0]).toBe(400);
  expect((await statusAndBody(convert({})))[0]).toBe(400);
  for (const rate of ['0', '0.0', '-1', '1000.1', '1001', '0.1234567', '1e3', '.5', '5.', '01', '', 'one', 2, null]) {
    const [status, body] = await statusAndBody(convert({ wallet, rate }));
    expect([rate, status, (body as { error: string }).error]).toEqual([rate, 400, expect.stringMatching(/^rate must be/)]);
  }
  expect(await conversionsOf(wallet)).toMatchObject({ n: 0 });
});

test('the points of a banned wallet are not converted', async () => {
  const { wallet } = await betaPlayer(10);
  expect((await asAdmin(t, `/admin/wallets/${wallet}/ban`, { json: { reason: 'bot' } })).status).toBe(200);
  expect(await statusAndBody(convert({ wallet }))).toEqual([409, { error: 'wallet must not be banned' }]);
});

test('a conversion beyond the safe integer range is refused', async () => {
  const { wallet } = await betaPlayer(9_007_199_254_740);
  expect((await statusAndBody(convert({ wallet, rate: '1000' })))[0]).toBe(200);
  await givePoints(t.app, { wallet, points: 1_000, mode: 'beta' });
  expect(await statusAndBody(convert({ wallet }))).toEqual([400, { error: 'rate must be lower, because the total points would exceed the maximum' }]);
});
