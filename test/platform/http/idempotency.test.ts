import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import { reply, route } from '#platform/http/route.ts';
import { asOwner } from '#test/support/database.ts';
import { createRouteClient } from '#test/support/http/client.ts';
import { readResponse, startTestServer, type TestServer, TOKENS } from '#test/support/http/framework.ts';

const createEffects = statement('test_create_effects', 'create table effects (name text not null)');
const insertEffect = statement('test_insert_effect', 'insert into effects (name) values ($1)');
const countEffects = statement<{ count: number }>('test_count_effects', 'select count(*)::int as count from effects where name = $1');
const pause = statement('test_pause', 'select pg_sleep($1)');

const Made = z.object({ id: z.string(), name: z.string() });
const make = (path: string, auth: 'public' | { admin: 'content' }) =>
  route({
    method: 'post',
    path,
    auth,
    summary: 'Creates something',
    params: z.object({ shelf: z.string() }),
    body: z.strictObject({ name: z.string(), amount: z.string().transform(BigInt).optional(), pauseMs: z.int().optional() }),
    returns: { 201: Made },
    fails: [404, 409],
    idempotent: true,
    handler: ({ body, once }) =>
      once(async (tx) => {
        await tx.query(insertEffect, [body.name]);
        if (body.pauseMs) await tx.query(pause, [body.pauseMs / 1_000]);
        if (body.name.startsWith('refused')) throw fail(404, 'no such thing');
        if (body.name.startsWith('broken')) throw new Error('a bug');
        return reply(201, { id: randomUUID(), name: body.name }, { Location: `/things/${body.name}` });
      }),
  });
const routes = [make('/shelves/{shelf}/things', 'public'), make('/admin/{shelf}/things', { admin: 'content' })] as const;
const [things, adminThings] = routes;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(routes);
  await asOwner(server.app, (tx) => tx.query(createEffects));
});
afterAll(() => server.close());

const send = (name: string, idempotencyKey: string | undefined, more: { shelf?: string; amount?: string; pauseMs?: number } = {}) => {
  const { shelf = 'a', ...body } = more;
  const input = { params: { shelf }, body: { name, ...body } };
  return createRouteClient(server.url).call(things, idempotencyKey === undefined ? input : { ...input, idempotencyKey });
};
const effectsOf = async (name: string) => (await server.app.db.query(countEffects, [name]))[0]?.count;

test('a repeated request with the same key and body has one effect and gets the same response with its headers', async () => {
  const first = await send('one', 'key-1', { amount: '12345678901234567890' });
  const again = await send('one', 'key-1', { amount: '12345678901234567890' });
  expect(first.status).toBe(201);
  expect([again.status, again.body, again.headers.get('Location')]).toEqual([first.status, first.body, '/things/one']);
  expect(await effectsOf('one')).toBe(1);
});

test('requests without a key each have an effect', async () => {
  await Promise.all([send('free', undefined), send('free', undefined)]);
  expect(await effectsOf('free')).toBe(2);
});

test('a key that was used with another body gets a 409', async () => {
  await send('two', 'key-2');
  const other = await send('two', 'key-2', { amount: '1' });
  expect([other.status, other.body]).toEqual([409, { error: 'Idempotency-Key was used before with another body' }]);
  expect(await effectsOf('two')).toBe(1);
});

test('twenty concurrent requests with one key have one effect and one response', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('many', 'key-many', { pauseMs: 100 })));
  expect(new Set(answers.map((answer) => JSON.stringify([answer.status, answer.body]))).size).toBe(1);
  expect(answers[0]?.status).toBe(201);
  expect(await effectsOf('many')).toBe(1);
});

test('a request that waits more than two seconds for another one with its key gets a 409 with Retry-After', async () => {
  const answers = await Promise.all([send('slow', 'key-slow', { pauseMs: 4_000 }), send('slow', 'key-slow', { pauseMs: 4_000 })]);
  expect(answers.map(({ status, headers }) => [status, headers.get('Retry-After')]).sort()).toEqual([
    [201, null],
    [409, '1'],
  ]);
  expect((await send('slow', 'key-slow', { pauseMs: 4_000 })).status).toBe(201);
  expect(await effectsOf('slow')).toBe(1);
});

test('after an error the key can be used again, and there is no effect', async () => {
  for (const [name, status] of [
    ['refused', 404],
    ['broken', 500],
  ] as const) {
    expect((await send(name, `key-${name}`)).status).toBe(status);
    expect((await send(`fine-${name}`, `key-${name}`)).status).toBe(201);
    expect(await effectsOf(name)).toBe(0);
  }
});

test('a key is separate for each caller and each path', async () => {
  const mine = await send('scoped', 'key-scope');
  const elsewhere = await send('scoped', 'key-scope', { shelf: 'b' });
  const byAdmin = async (token: string) =>
    (
      await createRouteClient(server.url, { Authorization: `Bearer ${token}` }).ok(adminThings, {
        params: { shelf: 'a' },
        body: { name: 'scoped' },
        idempotencyKey: 'key-scope',
      })
    ).body;
  const bodies = [mine.body, elsewhere.body, await byAdmin(TOKENS.all), await byAdmin(TOKENS.content)];
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(4);
  expect(await byAdmin(TOKENS.content)).toEqual(bodies[3]);
});

test('a key that is not 1 to 255 printable characters gets a 400', async () => {
  const raw = (key: string) =>
    fetch(`${server.url}/shelves/a/things`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: JSON.stringify({ name: 'key' }),
    });
  for (const bad of ['', 'x'.repeat(256), 'with space', 'ümlaut']) {
    expect(await readResponse(await raw(bad))).toEqual({ status: 400, body: { error: 'Idempotency-Key must be 1 to 255 printable characters' } });
  }
  expect(await effectsOf('key')).toBe(0);
  expect((await raw('x'.repeat(255))).status).toBe(201);
});
