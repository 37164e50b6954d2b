import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { EventReceipt, ThemeView } from '#areas/admin/schemas.ts';
import { CabinetView } from '#areas/arcade/schemas.ts';
import { ArcadeState } from '#areas/events/schemas.ts';
import { mergePatch } from '#lib/merge-patch.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { openRound } from '#test/support/areas/chat.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

const CONTENT = 'content-admin-token-0123456789';
const ROUNDS = 'rounds-admin-token-0123456789';
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ADMIN_TOKENS: `${ADMIN_TOKEN},editor:content:${CONTENT},drawer:rounds:${ROUNDS}` } });
});
afterAll(() => t.close());

const post = (path: string, json: unknown, headers: Record<string, string> = {}) =>
  send(t, path, { json, headers: { Authorization: `Bearer ${CONTENT}`, ...headers } });
const answered = async (response: Response | Promise<Response>) => [(await response).status, await (await response).json()];
const state = () => jsonOf(send(t, '/arcade/state'), ArcadeState);
const emitted = async (type: string) =>
  (await sql<{ payload: Record<string, unknown> }>(t.app, 'select payload from outbox where type = $1 order by id', [type])).map(
    ({ payload }) => payload,
  );
const tally = (responses: readonly Response[]) => responses.map(({ status }) => status).sort();
const FIFTY = Array.from({ length: 50 }, (_, i) => i);

test.each([
  ['/admin/theme', {}],
  ['/admin/event', { name: 'fireworks' }],
  ['/admin/cabinet/possess', { cabinetId: 'cabinet-1', by: 'ghost' }],
  ['/admin/cabinet/release', { cabinetId: 'cabinet-1' }],
])('%s requires the scope content', async (path, body) => {
  expect((await send(t, path, { json: body })).status).toBe(403);
  expect((await post(path, body, { Authorization: `Bearer ${ROUNDS}` })).status).toBe(403);
});

describe('the theme', () => {
  test('merges objects member by member, removes members with null, and replaces other values', async () => {
    const { theme, themeVersion } = await state();
    expect(theme).toMatchObject({ name: 'neon-night', music: 'attract-mode', palette: { primary: '#ff2e97' } });
    const changed = await post('/admin/theme', { palette: { primary: '#00ff88', glow: [1, null] }, music: null });
    expect([changed.status, changed.headers.get('ETag')]).toEqual([200, `"${themeVersion + 1}"`]);
    const { music: _, ...rest } = z.looseObject({ music: z.string(), palette: z.looseObject({}) }).parse(theme);
    const merged = { ...rest, palette: { ...rest.palette, primary: '#00ff88', glow: [1, null] } };
    expect(await changed.json()).toEqual({ theme: merged, version: themeVersion + 1 });
    expect(await state()).toMatchObject({ theme: merged, themeVersion: themeVersion + 1 });
    expect(await emitted('theme_changed')).toEqual([{ theme: merged, version: themeVersion + 1 }]);
  });

  test('keeps its version and emits no event when nothing changes', async () => {
    const [{ themeVersion }, before] = [await state(), (await emitted('theme_changed')).length];
    for (const patch of [{}, { palette: { primary: '#00ff88' } }, { nothing: null }]) {
      expect(await jsonOf(post('/admin/theme', patch), ThemeView)).toMatchObject({ version: themeVersion });
    }
    expect((await emitted('theme_changed')).length).toBe(before);
  });

  test('changes only at the version that If-Match names', async () => {
    const { themeVersion } = await state();
    expect(await answered(post('/admin/theme', { font: 'A' }, { 'If-Match': `"${themeVersion - 1}"` }))).toEqual([
      412,
      { error: 'If-Match must be the current ETag' },
    ]);
    const all = await Promise.all(FIFTY.map((i) => post('/admin/theme', { font: `F${i}` }, { 'If-Match': `"${themeVersion}"` })));
    expect(tally(all)).toEqual([200, ...FIFTY.slice(1).map(() => 412)]);
    expect((await state()).themeVersion).toBe(themeVersion + 1);
  });

  test('loses none of fifty concurrent changes, and keeps every version', async () => {
    const { themeVersion } = await state();
    const all = await Promise.all(FIFTY.map((i) => post('/admin/theme', { crowd: { [`member-${i}`]: i } })));
    expect(tally(all)).toEqual(FIFTY.map(() => 200));
    const { theme } = await state();
    expect(theme.crowd).toEqual(Object.fromEntries(FIFTY.map((i) => [`member-${i}`, i])));
    const kept = await sql<{ version: number }>(t.app, `select version from settings where name = 'theme' and version > $1 order by version`, [
      themeVersion,
    ]);
    expect(kept.map(({ version }) => version)).toEqual(FIFTY.map((i) => themeVersion + 1 + i));
    expect((await emitted('theme_changed')).slice(-50).map(({ version }) => version)).toEqual(kept.map(({ version }) => version));
    await post('/admin/theme', { crowd: null });
  });

  test('cannot grow above 64 KB, also in several changes', async () => {
    const part = 'x'.repeat(40_000);
    expect((await post('/admin/theme', { a: part })).status).toBe(200);
    const { themeVersion } = await state();
    expect(await answered(post('/admin/theme', { b: part }))).toEqual([400, { error: 'the theme must be at most 65536 bytes of JSON once merged' }]);
    expect((await state()).themeVersion).toBe(themeVersion);
    expect((await post('/admin/theme', { a: null, b: part })).status).toBe(200);
    await post('/admin/theme', { b: null });
  });

  // Examples from appendix A of RFC 7386 whose patch is an object.
  test.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j merged with %j is %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  test('a merge patch with a member __proto__ does not change any prototype', () => {
    const patch: Record<string, unknown> = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    const merged = mergePatch({}, patch);
    expect(Object.keys(merged)).toEqual(['__proto__', 'constructor']);
    expect([Object.getPrototypeOf(merged), Object.hasOwn(Object.prototype, 'polluted')]).toEqual([Object.prototype, false]);
  });
});

describe('one-time events', () => {
  const ofArcade = async () => (await state()).activeEvents.filter(({ type }) => type === 'arcade_event');

  test('are broadcast once, and are active for their duration, by default a minute', async () => {
    const begun = await post('/admin/event', { name: 'meteor-shower', payload: { intensity: 3 }, durationSec: 3_600 });
    expect(begun.status).toBe(201);
    const { id, startsAt, endsAt, ...rest } = await jsonOf(begun, EventReceipt);
    expect(rest).toEqual({ name: 'meteor-shower', payload: { intensity: 3 } });
    expect(Date.parse(endsAt) - Date.parse(startsAt)).toBe(3_600_000);
    expect(await emitted('arcade_event')).toEqual([{ id, name: 'meteor-shower', payload: { intensity: 3 }, startsAt, endsAt }]);
    expect(await ofArcade()).toEqual([{ type: 'arcade_event', id, title: 'meteor-shower', payload: { intensity: 3 }, startsAt, endsAt }]);
    const now = t.clock.now();
    await t.clock.set(new Date(Date.parse(endsAt) + 1));
    expect(await ofArcade()).toEqual([]);
    await t.clock.set(now);
    const short = await jsonOf(post('/admin/event', { name: 'closing soon' }), EventReceipt);
    expect([short.payload, Date.parse(short.endsAt) - Date.parse(short.startsAt)]).toEqual([undefined, 60_000]);
  });

  test('start once per Idempotency-Key, also for fifty concurrent requests', async () => {
    const before = (await emitted('arcade_event')).length;
    const key = { 'Idempotency-Key': 'one-parade' };
    const parade = async (): Promise<Response> => {
      const response = await post('/admin/event', { name: 'parade' }, key);
      return response.headers.has('Retry-After') ? await parade() : response;
    };
    const all = await Promise.all(FIFTY.map(parade));
    expect(tally(all)).toEqual(FIFTY.map(() => 201));
    expect(new Set(await Promise.all(all.map(async (one) => (await jsonOf(one, EventReceipt)).id))).size).toBe(1);
    expect((await emitted('arcade_event')).length).toBe(before + 1);
    expect((await post('/admin/event', { name: 'another' }, key)).status).toBe(409);
  });

  test('are listed newest first, at most fifty', async () => {
    for (const i of FIFTY) await post('/admin/event', { name: `flash ${i}` });
    expect((await ofArcade()).map(({ title }) => title)).toEqual(FIFTY.map((i) => `flash ${49 - i}`));
  });

  test('are refused when the request is invalid', async () => {
    for (const [body, error] of [
      [{}, 'name is required and must be text'],
      [{ name: '' }, 'name must not be empty'],
      [{ name: 'x', durationSec: 0 }, 'durationSec must be at least 1'],
      [{ name: 'x', durationSec: 604_801 }, 'durationSec must be at most 604800'],
      [{ name: 'x', payload: 'y'.repeat(8_200) }, 'payload must be at most 8192 bytes of JSON'],
    ] as const) {
      expect(await answered(post('/admin/event', body))).toEqual([400, { error }]);
    }
  });

  test('are listed together with the open chat round and the active burn event', async () => {
    const [round, burn] = [await openRound(t), randomUUID()];
    await sql(
      t.app,
      `insert into burn_events (id, title, mint, duration_sec, created_by, state, activated_at, ends_at)
       values ($1, 'Bonfire', 'mint', 3600, 'somebody', 'active', app_now(), app_now() + interval '1 hour')`,
      [burn],
    );
    const lasts = { startsAt: expect.any(String), endsAt: expect.any(String) };
    expect((await state()).activeEvents.slice(0, 2)).toEqual([
      { type: 'chat_round', id: round, status: 'active', title: 'a round', ...lasts },
      { type: 'burn_event', id: burn, title: 'Bonfire', ...lasts },
    ]);
  });
});

describe('cabinets', () => {
  const cabinet = async (id: string) => (await jsonOf(send(t, '/arcade/cabinets'), z.array(CabinetView))).find((one) => one.id === id);

  test('are possessed and released with events, and every reader sees the change at once', async () => {
    const before = await cabinet('cabinet-2');
    const { possessed } = (await state()).arcade;
    const taken = { ...before, status: 'possessed', possessedBy: 'the ghost' };
    expect(await answered(post('/admin/cabinet/possess', { cabinetId: 'cabinet-2', by: 'the ghost' }))).toEqual([200, taken]);
    expect(await cabinet('cabinet-2')).toEqual(taken);
    expect((await state()).arcade.possessed).toBe(possessed + 1);
    expect(await answered(post('/admin/cabinet/release', { cabinetId: 'cabinet-2' }))).toEqual([200, before]);
    expect(await cabinet('cabinet-2')).toEqual(before);
    expect((await state()).arcade.possessed).toBe(possessed);
    const { gameId } = z.object({ gameId: z.string() }).parse(before);
    expect([await emitted('cabinet_possessed'), await emitted('cabinet_released')]).toEqual([
      [{ cabinetId: 'cabinet-2', gameId, by: 'the ghost' }],
      [{ cabinetId: 'cabinet-2', gameId }],
    ]);
  });

  test('get 409 when they are in the requested state already, and 404 when they do not exist', async () => {
    expect(await answered(post('/admin/cabinet/release', { cabinetId: 'cabinet-3' }))).toEqual([409, { error: 'the cabinet is not possessed' }]);
    await post('/admin/cabinet/possess', { cabinetId: 'cabinet-3', by: 'a' });
    for (const by of ['a', 'b']) {
      expect(await answered(post('/admin/cabinet/possess', { cabinetId: 'cabinet-3', by }))).toEqual([
        409,
        { error: 'the cabinet is possessed already' },
      ]);
    }
    expect((await cabinet('cabinet-3'))?.possessedBy).toBe('a');
    for (const [path, body] of [
      ['possess', { cabinetId: 'cabinet-99', by: 'a' }],
      ['release', { cabinetId: 'cabinet-99' }],
    ] as const) {
      expect(await answered(post(`/admin/cabinet/${path}`, body))).toEqual([404, { error: 'no such cabinet' }]);
    }
  });

  test('are possessed by one of fifty concurrent requests, and released once', async () => {
    const [before, after] = [(await emitted('cabinet_possessed')).length, (await emitted('cabinet_released')).length];
    const taken = await Promise.all(FIFTY.map((i) => post('/admin/cabinet/possess', { cabinetId: 'cabinet-4', by: `ghost ${i}` })));
    expect(tally(taken)).toEqual([200, ...FIFTY.slice(1).map(() => 409)]);
    const winner = taken.findIndex(({ status }) => status === 200);
    expect((await cabinet('cabinet-4'))?.possessedBy).toBe(`ghost ${winner}`);
    const released = await Promise.all(FIFTY.map(() => post('/admin/cabinet/release', { cabinetId: 'cabinet-4' })));
    expect(tally(released)).toEqual([200, ...FIFTY.slice(1).map(() => 409)]);
    expect([(await emitted('cabinet_possessed')).length, (await emitted('cabinet_released')).length]).toEqual([before + 1, after + 1]);
  });

  test('stay possessed when an operator changes their display', async () => {
    await post('/admin/cabinet/possess', { cabinetId: 'cabinet-5', by: 'poltergeist' });
    const changed = await send(t, '/admin/cabinets/cabinet-5', {
      method: 'PUT',
      json: { gameId: 'star-raiders', display: { name: 'Moved' } },
      headers: { Authorization: `Bearer ${CONTENT}` },
    });
    expect([changed.status, (await cabinet('cabinet-5'))?.possessedBy]).toEqual([200, 'poltergeist']);
  });
});
