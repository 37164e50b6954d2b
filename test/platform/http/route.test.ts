import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { createRouteClient } from '#test/support/http/client.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';

const shelve = route({
  method: 'post',
  path: '/shelves/{shelf}/things',
  auth: 'public',
  summary: 'Shelves a thing',
  params: z.object({ shelf: z.string() }),
  query: z.object({ copies: z.coerce.number().int().default(1), tag: z.array(z.string()).optional() }),
  body: z.strictObject({ name: z.string() }),
  returns: { 201: z.object({ at: z.string(), copies: z.int(), tags: z.array(z.string()) }), 202: z.object({ later: z.literal(true) }) },
  fails: [404],
  async handler({ params, query, body }) {
    if (body.name === 'nothing') throw fail(404, 'no such thing');
    if (body.name === 'late') return reply(202, { later: true as const }, { Location: '/later' });
    return reply(201, { at: params.shelf, copies: query.copies, tags: query.tag ?? [] });
  },
});
const picture = route({
  method: 'get',
  path: '/picture',
  auth: 'public',
  summary: 'Bytes',
  returns: { 200: stream('image/png') },
  fails: [],
  handler: async () => reply(200, Buffer.from([1, 2, 3])),
});
const upload = route({
  method: 'put',
  path: '/upload',
  auth: 'public',
  summary: 'Counts bytes',
  body: stream('application/octet-stream', 1_000),
  returns: { 200: z.object({ bytes: z.int() }) },
  fails: [],
  async handler({ body }) {
    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;
    return reply(200, { bytes });
  },
});
const end = route({
  method: 'delete',
  path: '/end',
  auth: 'public',
  summary: 'Ends it',
  returns: { 204: null },
  fails: [],
  handler: async () => reply(204, null),
});

let server: TestServer;
const client = () => createRouteClient(server.url);
beforeAll(async () => {
  server = await startTestServer([shelve, picture, upload, end]);
});
afterAll(() => server.close());

test('path parameters, query parameters and the body reach the handler, and its status and headers reach the client', async () => {
  const made = await client().call(shelve, { params: { shelf: 'a/b ü%' }, query: { copies: 3, tag: ['x', 'y'] }, body: { name: 'one' } });
  if (made.status !== 201) throw new Error(`answered ${made.status}`);
  // The type has `at` because the status is 201.
  expect([made.body.at, made.body.copies, made.body.tags]).toEqual(['a/b ü%', 3, ['x', 'y']]);
  const late = await client().call(shelve, { params: { shelf: 'a' }, body: { name: 'late' } });
  if (late.status !== 202) throw new Error(`answered ${late.status}`);
  expect([late.body.later, late.headers.get('Location')]).toEqual([true, '/later']);
});

test('an error that a handler throws is sent with its status and its sentence', async () => {
  const answer = await client().call(shelve, { params: { shelf: 'a' }, body: { name: 'nothing' } });
  expect([answer.status, answer.body]).toEqual([404, { error: 'no such thing' }]);
});

test('a route can return bytes, and a 204 has no body', async () => {
  const { body } = await client().ok(picture);
  expect([...(await body.bytes())]).toEqual([1, 2, 3]);
  expect((await client().ok(end)).body).toBeNull();
});

test('a route takes a body of bytes up to its limit, and only with its content type', async () => {
  const headers = { 'Content-Type': 'application/octet-stream' };
  expect((await client().ok(upload, { body: Buffer.alloc(1_000), headers })).body).toEqual({ bytes: 1_000 });
  const announced = await client().call(upload, { body: Buffer.alloc(1_001), headers });
  expect([announced.status, announced.body]).toEqual([413, { error: 'the body must be at most 1000 bytes' }]);
  const chunked = await client().call(upload, { body: ReadableStream.from([Buffer.alloc(600), Buffer.alloc(600)]), headers });
  expect(chunked.status).toBe(413);
  expect((await client().call(upload, { body: 'x', headers: { 'Content-Type': 'text/plain' } })).status).toBe(415);
});
