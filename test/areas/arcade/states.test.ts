import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { StateSaved, StateView } from '#areas/arcade/schemas.ts';
import { statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let player: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  player = await signIn(t);
});
afterAll(() => t.close());

const PATH = '/game/star-raiders/state';
const read = (who: SignedIn, path = PATH) => jsonOf(who.fetch(path), StateView);
const put = (who: SignedIn, json: unknown, headers: Record<string, string> = {}, path = PATH) => who.fetch(path, { method: 'PUT', json, headers });

test('before the first save, the state is null and the version is 0', async () => {
  const response = await player.fetch(PATH);
  expect([response.status, response.headers.get('ETag')]).toEqual([200, '"0"']);
  expect(await response.json()).toEqual({ gameId: 'star-raiders', state: null, version: 0, updatedAt: null });
});

test('any JSON can be saved and read back, and the wallet gets a game_state event', async () => {
  const who = await signIn(t);
  const states = [{ level: 3, inventory: [{ id: 'a', n: 1.5 }], note: 'ünïcode 😀', nothing: null }, [1, 2, 3], 'text', 7, false, null];
  for (const [i, state] of states.entries()) {
    const saved = await put(who, state);
    expect([saved.status, saved.headers.get('ETag')]).toEqual([200, `"${i + 1}"`]);
    const receipt = await jsonOf(saved, StateSaved);
    expect(receipt).toEqual({ gameId: 'star-raiders', version: i + 1, updatedAt: expect.any(String) });
    const response = await who.fetch(PATH);
    expect(response.headers.get('ETag')).toBe(`"${i + 1}"`);
    expect(await response.json()).toEqual({ ...receipt, state });
  }
  const events = await t.app.db.query(
    statement<{ payload: unknown }>('test_state_events', `select payload from outbox where type = 'game_state' and wallet = $1 order by id`),
    [who.wallet],
  );
  expect(events.map((event) => event.payload)).toEqual(states.map((_, i) => ({ gameId: 'star-raiders', version: i + 1 })));
});

test('states are separate per wallet and per game', async () => {
  const [a, b] = [await signIn(t), await signIn(t)];
  await put(a, { of: 'a' });
  expect((await read(b)).state).toBeNull();
  expect((await read(a, '/game/gem-drop/state')).state).toBeNull();
});

test('If-None-Match with the current version gets 304', async () => {
  const who = await signIn(t);
  await put(who, 1);
  for (const tag of ['"1"', 'W/"1"', '"0", "1"', '*']) {
    const response = await who.fetch(PATH, { headers: { 'If-None-Match': tag } });
    expect([response.status, response.headers.get('ETag'), await response.text()]).toEqual([304, '"1"', '']);
  }
  expect((await who.fetch(PATH, { headers: { 'If-None-Match': '"0"' } })).status).toBe(200);
});

test('If-Match replaces only the named version', async () => {
  const who = await signIn(t);
  const stale = { error: 'If-Match must be the current ETag' };
  for (const tag of ['*', '"1"', 'W/"0"', 'nonsense']) {
    const refused = await put(who, 'new', { 'If-Match': tag });
    expect([refused.status, await refused.json()]).toEqual([412, stale]);
  }
  expect((await put(who, 'first', { 'If-Match': '"0"' })).status).toBe(200);
  expect((await put(who, 'first again', { 'If-Match': '"0"' })).status).toBe(412);
  expect((await put(who, 'second', { 'If-Match': '"7", "1"' })).headers.get('ETag')).toBe('"2"');
  expect((await put(who, 'third', { 'If-Match': '*' })).headers.get('ETag')).toBe('"3"');
  expect((await read(who)).state).toBe('third');
});

test('of twenty concurrent writers with the same If-Match exactly one succeeds, for a new and for an existing state', async () => {
  const who = await signIn(t);
  for (const version of [0, 1]) {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => put(who, { writer: i }, { 'If-Match': `"${version}"` })));
    const winners = answers.flatMap((answer, i) => (answer.status === 200 ? [i] : []));
    expect(winners).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 412)).toHaveLength(19);
    expect(await read(who)).toMatchObject({ state: { writer: winners[0] }, version: version + 1 });
  }
});

test('concurrent writers without If-Match all succeed, each with its own version', async () => {
  const who = await signIn(t);
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => put(who, i)));
  const versions = await Promise.all(answers.map(async (answer) => (await jsonOf(answer, StateSaved)).version));
  expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
});

const raw = (who: SignedIn, body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
  who.fetch(PATH, { method: 'PUT', body, headers: { 'Content-Type': type } });

test.each([
  ['the order of keys', '{"b":1,"a":2,"10":3,"9":4}'],
  ['repeated keys', '{"a":1,"a":2}'],
  ['long numbers', '{"n":12345678901234567890.10,"m":1e400,"k":-0.0,"z":1E+2}'],
  ['many numbers with an exponent', `[${Array.from({ length: 2_000 }, () => '1e300').join()}]`],
  ['spaces and line breaks', ' {\n\t"a" : [ 1 , 2 ] }\r\n'],
  ['escapes', '"\\u00e9\\/\\ud83d\\ude00"'],
])('the text of a state is kept as it was sent: %s', async (_what, text) => {
  const who = await signIn(t);
  expect((await raw(who, text)).status).toBe(200);
  const { updatedAt } = await read(who);
  expect(await (await who.fetch(PATH)).text()).toBe(`{"gameId":"star-raiders","state":${text},"version":1,"updatedAt":"${updatedAt}"}`);
});

test('an empty body and a body that is not UTF-8 are refused with 400 and change nothing', async () => {
  const who = await signIn(t);
  await put(who, { kept: true });
  expect((await who.fetch(PATH, { method: 'PUT' })).status).toBe(400);
  for (const body of ['', ' ', '\n']) expect((await raw(who, body)).status).toBe(400);
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc3, 0x28, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
  ]) {
    const refused = await raw(who, new Uint8Array(bytes));
    expect([refused.status, await refused.json()]).toEqual([400, { error: 'the body must be UTF-8' }]);
  }
  expect(await read(who)).toMatchObject({ state: { kept: true }, version: 1 });
});

test('a byte order mark is not part of the state', async () => {
  const who = await signIn(t);
  expect((await raw(who, new Uint8Array([0xef, 0xbb, 0xbf, 0x37]))).status).toBe(200);
  expect((await read(who)).state).toBe(7);
});

test('a state that cannot be stored is refused', async () => {
  const raw = (body: string, type = 'application/json') => player.fetch(PATH, { method: 'PUT', body, headers: { 'Content-Type': type } });
  expect((await raw('{"x":')).status).toBe(400);
  expect((await raw('"\\u0000"')).status).toBe(400);
  expect((await raw(JSON.stringify('x'.repeat(256 * 1024)))).status).toBe(413);
  expect((await raw('x', 'text/plain')).status).toBe(415);
  expect((await raw(JSON.stringify('x'.repeat(256 * 1024 - 2)))).status).toBe(200);
});

test('a large state with many small members does not block the event loop', async () => {
  const who = await signIn(t);
  const state = Array.from({ length: 60_000 }, (_, i) => [i % 10]);
  const started = performance.now();
  expect((await put(who, state)).status).toBe(200);
  expect(performance.now() - started).toBeLessThan(1_500);
  expect((await read(who)).state).toEqual(state);
});

test('states require a session and an existing game', async () => {
  expect((await send(t, PATH)).status).toBe(401);
  expect((await send(t, PATH, { method: 'PUT', json: 1 })).status).toBe(401);
  expect((await player.fetch('/game/nowhere/state')).status).toBe(404);
  expect((await put(player, 1, {}, '/game/nowhere/state')).status).toBe(404);
  expect((await put(player, 1, { Origin: 'null' })).status).toBe(403);
});
