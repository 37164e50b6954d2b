import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { loadGames, seedArcade } from '#areas/arcade';
import { CabinetView, GameStatsView, GameSummary, NormalizationConfig } from '#areas/arcade/schemas.ts';
import { ArcadeState } from '#areas/events/schemas.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { statement } from '#platform/db/sql.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { realDelay } from '#test/support/http/heartbeat.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
const NARROW = 'narrow-admin-token-0123456789';
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ADMIN_TOKENS: `${ADMIN_TOKEN},narrow:money:${NARROW}`, DAILY_POINTS_CAP: '1234' } });
});
afterAll(() => t.close());

const game = (over: object = {}) => ({
  name: 'Test Game',
  category: 'puzzle',
  normalization: { method: 'linear', min: 0, max: 1_000, direction: 'higher' },
  pointsPer10000: 100,
  caps: { dailyPoints: 500 },
  verification: 'play',
  ...over,
});

const put = (path: string, json: unknown, headers: Record<string, string> = {}) =>
  send(t, path, { method: 'PUT', json, headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, ...headers } });
const games = () => jsonOf(send(t, '/config/games'), z.array(GameSummary));
const cabinets = () => jsonOf(send(t, '/arcade/cabinets'), z.array(CabinetView));
const stats = (id: string) => jsonOf(send(t, `/game/${id}/stats`), GameStatsView);
const arcade = () => jsonOf(send(t, '/arcade/state'), ArcadeState);

test('GET /config/games lists the seeded games by id, without secrets', async () => {
  const response = await send(t, '/config/games');
  expect(response.status).toBe(200);
  expect(response.headers.get('Cache-Control')).toBe('public, max-age=5');
  const text = await response.text();
  const listed = z.array(GameSummary).parse(JSON.parse(text));
  expect(listed.length).toBeGreaterThanOrEqual(8);
  expect(listed.map((g) => g.id)).toEqual(listed.map((g) => g.id).sort());
  expect(new Set(listed.map((g) => g.verification))).toEqual(new Set(['none', 'play', 'heartbeat', 'replay']));
  expect(listed.find((g) => g.id === 'token-pusher')?.proves).toHaveLength(2);
  expect(listed.find((g) => g.id === 'star-raiders')).toMatchObject({
    id: 'star-raiders',
    name: 'Star Raiders',
    category: 'shooter',
    verification: 'heartbeat',
    version: 1,
  });
  expect(text).not.toContain('secret');
  const again = await send(t, '/config/games', { headers: { 'If-None-Match': response.headers.get('ETag') ?? '' } });
  expect(again.status).toBe(304);
});

test('GET /config/normalization returns the rules of every game and the daily cap over all games', async () => {
  const config = await jsonOf(send(t, '/config/normalization'), NormalizationConfig);
  expect(config.scale).toBe(10_000);
  expect(config.dailyPointsCap).toBe(1_234);
  expect(new Set(config.games.map((g) => g.normalization.method))).toEqual(new Set(['linear', 'log', 'piecewise']));
  expect(config.games.find((g) => g.id === 'token-pusher')).toMatchObject({ rewards: false, verification: 'none', pointsPer10000: 50 });
  expect(config.games.find((g) => g.id === 'star-raiders')).toMatchObject({ rewards: true, caps: { dailyPoints: 5_000, maxDurationMs: 1_800_000 } });
});

test('seeding again fills nothing', async () => {
  expect(await t.app.tx((tx) => seedArcade(tx))).toEqual([]);
});

test('PUT /admin/games/{id} answers 201 for a new game, 200 with a new version for a change, and keeps the version when nothing changes', async () => {
  const created = await put('/admin/games/my-game', game());
  expect(created.status).toBe(201);
  expect(created.headers.get('ETag')).toBe('"1"');
  expect(await created.json()).toEqual({
    id: 'my-game',
    version: 1,
    ...game(),
    caps: { dailyPoints: 500, minDurationMs: 0, maxDurationMs: 21_600_000 },
    maxLivePlays: 1,
    review: { perfectFrom: 9_900, repeatedScores: 4, overlapSec: 600, newcomerScores: 5, maxHeldPerWallet: 20 },
    rewards: true,
    hasSecret: false,
  });
  expect((await games()).map((g) => g.id)).toContain('my-game');

  const same = await put('/admin/games/my-game', game());
  expect([same.status, same.headers.get('ETag')]).toEqual([200, '"1"']);

  const changed = await put('/admin/games/my-game', game({ name: 'Other Name' }));
  expect([changed.status, changed.headers.get('ETag')]).toEqual([200, '"2"']);
  expect((await loadGames(t.app)).get('my-game')).toMatchObject({ name: 'Other Name', version: 2 });

  const kept = await t.app.db.query(
    statement<{ version: number; name: string }>(
      'test_game_versions',
      `select version, definition->>'name' as name from game_versions where game_id = 'my-game' order by version`,
    ),
  );
  expect(kept).toEqual([
    { version: 1, name: 'Test Game' },
    { version: 2, name: 'Other Name' },
  ]);
});

test('a changed game takes effect in every process within a second', async () => {
  const other = await openContext(readConfig(t.env), 'test-other');
  try {
    await put('/admin/games/seen-elsewhere', game());
    expect((await loadGames(other)).get('seen-elsewhere')?.version).toBe(1);
    await put('/admin/games/seen-elsewhere', game({ name: 'Newer' }));
    const deadline = performance.now() + 1_500;
    let name = '';
    while (name !== 'Newer' && performance.now() < deadline) {
      name = (await loadGames(other)).get('seen-elsewhere')?.name ?? '';
      await realDelay(20);
    }
    expect(name).toBe('Newer');
  } finally {
    await other.close();
  }
});

test('a secret can be set, kept and removed, and no response contains it', async () => {
  const secret = 'a-secret-of-this-test-0123456789';
  const set = await put('/admin/games/secretive', game({ secret }));
  expect(await set.clone().json()).toMatchObject({ hasSecret: true });
  expect(await set.text()).not.toContain(secret);
  const kept = await put('/admin/games/secretive', game({ name: 'Renamed' }));
  expect(await kept.json()).toMatchObject({ hasSecret: true, version: 2 });
  expect((await loadGames(t.app)).get('secretive')?.secret).toBe(secret);
  for (const path of ['/config/games', '/config/normalization', '/arcade/state']) expect(await (await send(t, path)).text()).not.toContain(secret);
  const removed = await put('/admin/games/secretive', game({ name: 'Renamed', secret: null }));
  expect(await removed.json()).toMatchObject({ hasSecret: false, version: 3 });
  const short = await put('/admin/games/secretive', game({ secret: 'too short' }));
  expect([short.status, await short.json()]).toEqual([400, { error: 'secret must be at least 16 characters long' }]);
});

test('a stale If-Match gets 412, also for a game that does not exist', async () => {
  await put('/admin/games/matched', game());
  const stale = await put('/admin/games/matched', game({ name: 'B' }), { 'If-Match': '"7"' });
  expect([stale.status, await stale.json()]).toEqual([412, { error: 'If-Match must be the current ETag' }]);
  expect((await put('/admin/games/matched', game({ name: 'B' }), { 'If-Match': '"1"' })).status).toBe(200);
  expect((await put('/admin/games/not-there', game(), { 'If-Match': '*' })).status).toBe(412);
});

test('of twenty concurrent changes of one version exactly one succeeds, and of twenty concurrent creations exactly one gets 201', async () => {
  const all = Array.from({ length: 20 }, (_, i) => i);
  const created = await Promise.all(all.map((i) => put('/admin/games/contested', game({ name: `Creator ${i}` }))));
  expect(created.map((r) => r.status).sort()).toEqual([...all.slice(1).map(() => 200), 201]);
  const version = (await loadGames(t.app)).get('contested')?.version;
  expect(version).toBe(20);
  const changed = await Promise.all(all.map((i) => put('/admin/games/contested', game({ name: `Editor ${i}` }), { 'If-Match': `"${version}"` })));
  expect(changed.map((r) => r.status).sort()).toEqual([200, ...all.slice(1).map(() => 412)]);
});

test('an invalid game is refused with an error that names the field and its rule', async () => {
  const malformed = { referral: 'must not be a reserved word', Bad_Id: 'must be 1 to 64 lower-case letters, digits and inner hyphens' };
  for (const [id, rule] of Object.entries(malformed)) {
    const response = await put(`/admin/games/${id}`, game());
    expect([response.status, await response.json()]).toEqual([404, { error: `no such resource: id ${rule}` }]);
  }
  const refusals: [string, unknown, string][] = [
    ['/admin/games/x', game({ extra: 1 }), 'extra is not a known field'],
    ['/admin/games/x', game({ verification: 'vibes' }), 'verification must be one of none, play, heartbeat, replay'],
    [
      '/admin/games/x',
      game({ caps: { dailyPoints: 1, minDurationMs: 5_000, maxDurationMs: 5_000 } }),
      'caps.minDurationMs must be below maxDurationMs',
    ],
    ['/admin/games/x', game({ normalization: { method: 'linear', min: 5, max: 5, direction: 'higher' } }), 'normalization.max must be above min'],
  ];
  for (const [path, body, error] of refusals) {
    const response = await put(path, body);
    expect([response.status, await response.json()]).toEqual([400, { error }]);
  }
});

test('changing games and cabinets requires the scope content', async () => {
  for (const path of ['/admin/games/x', '/admin/cabinets/x']) {
    expect((await send(t, path, { method: 'PUT', json: {} })).status).toBe(403);
    expect((await send(t, path, { method: 'PUT', json: {}, headers: { Authorization: `Bearer ${NARROW}` } })).status).toBe(403);
  }
});

test('GET /arcade/cabinets lists the seeded cabinets, none of them possessed', async () => {
  const all = await cabinets();
  expect(all).toHaveLength(8);
  expect(all[0]).toMatchObject({ id: 'cabinet-1', gameId: 'star-raiders', status: 'normal', possessedBy: null, display: { name: 'Star Raiders' } });
});

test('PUT /admin/cabinets/{id} creates and changes cabinets and honours If-Match, like games', async () => {
  const body = { gameId: 'star-raiders', display: { name: 'By the door', position: { row: 3, column: 1 }, lights: [1, 2] } };
  const created = await put('/admin/cabinets/by-the-door', body);
  expect([created.status, created.headers.get('ETag')]).toEqual([201, '"1"']);
  expect(await created.json()).toEqual({ id: 'by-the-door', ...body, status: 'normal', possessedBy: null, version: 1 });
  expect((await put('/admin/cabinets/by-the-door', body)).headers.get('ETag')).toBe('"1"');
  const moved = await put('/admin/cabinets/by-the-door', { ...body, gameId: 'gem-drop' }, { 'If-Match': '"1"' });
  expect([moved.status, moved.headers.get('ETag')]).toEqual([200, '"2"']);
  expect((await put('/admin/cabinets/by-the-door', body, { 'If-Match': '"1"' })).status).toBe(412);
  expect((await cabinets()).find((c) => c.id === 'by-the-door')).toMatchObject({ gameId: 'gem-drop', version: 2 });
});

test('an invalid cabinet is refused', async () => {
  const display = { name: 'x' };
  const refusals: [string, unknown, string][] = [
    ['/admin/cabinets/a', { gameId: 'nowhere', display }, 'gameId must be a game of this arcade'],
    ['/admin/cabinets/a', { gameId: 'star-raiders', display: { text: 'x'.repeat(17_000) } }, 'display must be at most 16384 bytes of JSON'],
    ['/admin/cabinets/a', { gameId: 'star-raiders' }, 'display is required and must be an object'],
  ];
  const reserved = await put('/admin/cabinets/possess', { gameId: 'star-raiders', display });
  expect([reserved.status, await reserved.json()]).toEqual([404, { error: 'no such resource: id must not be a reserved word' }]);
  for (const [path, body, error] of refusals) {
    const response = await put(path, body);
    expect([response.status, await response.json()]).toEqual([400, { error }]);
  }
});

test('GET /arcade/state returns the newest version of the theme', async () => {
  const before = await arcade();
  expect(before).toMatchObject({ theme: { name: 'neon-night' }, themeVersion: 1, activeEvents: [], arcade: { name: 'Coinop', possessed: 0 } });
  expect(before.arcade.games).toBe((await games()).length);
  await t.app.tx((tx) => tx.query(statement('test_theme', `insert into settings (name, version, value) values ('theme', 2, '{"name":"noir"}')`)));
  expect(await arcade()).toMatchObject({ theme: { name: 'noir' }, themeVersion: 2 });
});

test('GET /game/{id}/stats counts plays, players and scores, and caches them for two seconds', async () => {
  await put('/admin/games/counted', game());
  expect(await stats('counted')).toEqual({
    gameId: 'counted',
    totalPlays: 0,
    uniquePlayers: 0,
    totalScores: 0,
    averageScore: null,
    bestScore: null,
  });
  await t.app.tx(async (tx) => {
    await tx.query(
      statement(
        'test_counters',
        `insert into game_counters (game_id, shard, plays, players, scores, score_sum) values ('counted', 1, 4, 1, 2, 9000), ('counted', 2, 3, 1, 1, 1000)`,
      ),
    );
    await tx.query(
      statement(
        'test_standings',
        `insert into standings (board, mode, wallet, version, total, day, day_value, week, week_value, month, month_value, year, year_value)
         select 'game:counted', mode, wallet, 1, total, 1, total, 1, total, 1, total, 1, total
         from (values ('regular', 'a', 6000), ('regular', 'b', 4000), ('regular', 'c', 0), ('beta', 'd', 9999)) as v(mode, wallet, total)`,
      ),
    );
  });
  expect(await stats('counted')).toMatchObject({ totalPlays: 0 });
  const deadline = performance.now() + 4_000;
  let seen = await stats('counted');
  while (seen.totalPlays === 0 && performance.now() < deadline) {
    await realDelay(100);
    seen = await stats('counted');
  }
  expect(seen).toEqual({ gameId: 'counted', totalPlays: 7, uniquePlayers: 2, totalScores: 3, averageScore: 3_333.33, bestScore: 6_000 });
});

test('GET /game/{id}/stats answers 404 for an unknown game', async () => {
  for (const id of ['nowhere', 'Not_An_Id', 'referral']) {
    const response = await send(t, `/game/${id}/stats`);
    expect([response.status, await response.json()]).toEqual([404, { error: expect.stringMatching(/^no such (?:game|resource: id must .+)$/) }]);
  }
});
