import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { CallFailed, createClient } from '#platform/http/client.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { type Kit, startKit } from '#test/support/http/framework.ts';

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

let kit: Kit;
const client = () => createClient({ baseUrl: kit.url });
beforeAll(async () => {
  kit = await startKit([shelve, picture, upload, end]);
});
afterAll(() => kit.close());

test('parameters, query and body arrive; the status tells what came back', async () => {
  const answer = await client().call(shelve, { params: { shelf: 'a/b ü%' }, query: { copies: 3, tag: ['x', 'y'] }, body: { name: 'one' } });
  if (answer.status !== 201) throw new Error(`answered ${answer.status}`);
  // `at` exists because the status is 201.
  expect([answer.body.at, answer.body.copies, answer.body.tags]).toEqual(['a/b ü%', 3, ['x', 'y']]);
  const late = await client().call(shelve, { params: { shelf: 'a' }, body: { name: 'late' } });
  if (late.status !== 202) throw new Error(`answered ${late.status}`);
  expect([late.body.later, late.headers.get('Location')]).toEqual([true, '/later']);
});

test('a refusal is an answer to call, and an error to ok', async () => {
  const input = { params: { shelf: 'a' }, body: { name: 'nothing' } };
  const answer = await client().call(shelve, input);
  expect([answer.status, answer.body]).toEqual([404, { error: 'no such thing' }]);
  await expect(client().ok(shelve, input)).rejects.toThrow(new CallFailed('post /shelves/{shelf}/things', 404, 'no such thing'));
});

test('bytes come unread, and no content as null', async () => {
  const { body } = await client().ok(picture);
  expect([...(await body.bytes())]).toEqual([1, 2, 3]);
  expect((await client().ok(end)).body).toBeNull();
});

test('bytes are sent as they are, up to the limit of their route', async () => {
  const headers = { 'Content-Type': 'application/octet-stream' };
  expect((await client().ok(upload, { body: Buffer.alloc(1_000), headers })).body).toEqual({ bytes: 1_000 });
  const announced = await client().call(upload, { body: Buffer.alloc(1_001), headers });
  expect([announced.status, announced.body]).toEqual([413, { error: 'the body must be at most 1000 bytes' }]);
  const chunked = await client().call(upload, { body: ReadableStream.from([Buffer.alloc(600), Buffer.alloc(600)]), headers });
  expect(chunked.status).toBe(413);
  expect((await client().call(upload, { body: 'x', headers: { 'Content-Type': 'text/plain' } })).status).toBe(415);
});
