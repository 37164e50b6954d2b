import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { readQuery } from '#platform/http/query.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { answerOf, type Kit, sendRaw, startKit } from '#test/support/http/framework.ts';

const Text = z.object({ text: z.string() });

const routes = [
  route({
    method: 'get',
    path: '/things/{id}',
    auth: 'public',
    summary: 'Reads a thing',
    params: z.object({ id: z.string().max(20) }),
    query: z.object({ limit: z.coerce.number().int().min(1).max(500).default(50) }),
    returns: { 200: z.object({ id: z.string(), limit: z.int() }) },
    fails: [404],
    async handler({ params, query }) {
      if (params.id === 'none') throw fail(404, 'no such thing');
      return reply(200, { id: params.id, limit: query.limit });
    },
  }),
  route({
    method: 'put',
    path: '/things/{id}',
    auth: 'public',
    summary: 'Writes a thing',
    params: z.object({ id: z.string() }),
    returns: { 204: null },
    fails: [],
    handler: async () => reply(204, null),
  }),
  route({
    method: 'get',
    path: '/things/first',
    auth: 'public',
    summary: 'A literal path',
    returns: { 200: Text },
    fails: [],
    handler: async () => reply(200, { text: 'literal' }),
  }),
  route({
    method: 'get',
    path: '/cached',
    auth: 'public',
    summary: 'May be kept',
    returns: { 200: Text },
    fails: [],
    cache: 'public, max-age=60',
    handler: async () => reply(200, { text: 'same' }),
  }),
  route({
    method: 'get',
    path: '/picture',
    auth: 'public',
    summary: 'Bytes',
    returns: { 200: stream('image/png') },
    fails: [],
    handler: async () => reply(200, Buffer.from([1, 2, 3])),
  }),
  route({
    method: 'get',
    path: '/endless',
    auth: 'public',
    summary: 'Takes the response over',
    returns: { 200: stream('text/event-stream') },
    fails: [],
    handler: async () => reply(200, (response: ServerResponse) => void response.write('data: 1\n\n')),
  }),
  route({
    method: 'get',
    path: '/undeclared-status',
    auth: 'public',
    summary: 'Answers what it does not declare',
    returns: { 200: Text, 201: Text },
    fails: [],
    handler: async () => JSON.parse('{"status":202,"body":{"text":""}}'),
  }),
  route({
    method: 'get',
    path: '/undeclared-refusal',
    auth: 'public',
    summary: 'Refuses as it does not declare',
    returns: { 200: Text },
    fails: [],
    handler: () => Promise.reject(fail(409, 'not declared')),
  }),
  route({
    method: 'get',
    path: '/wrong-shape',
    auth: 'public',
    summary: 'Answers another shape',
    returns: { 200: Text },
    fails: [],
    handler: async () => JSON.parse('{"status":200,"body":{"text":7}}'),
  }),
  route({
    method: 'get',
    path: '/broken',
    auth: 'public',
    summary: 'Has a bug',
    returns: { 200: Text },
    fails: [],
    handler: () => Promise.reject(new Error('the password is hunter2')),
  }),
];

let kit: Kit;
beforeAll(async () => {
  kit = await startKit(routes);
});
afterAll(() => kit.close());
const get = (path: string, init?: RequestInit) => fetch(`${kit.url}${path}`, init);

test('an unknown path is 404 with one sentence', async () => {
  expect(await answerOf(await get('/nowhere'))).toEqual({ status: 404, body: { error: 'no such resource' } });
  expect((await get('/things/1/more')).status).toBe(404);
  expect((await get('/THINGS/1')).status).toBe(404);
  expect((await get('/things/1/')).status).toBe(404);
});

test('another method is 405 and says which there are', async () => {
  const response = await get('/things/1', { method: 'DELETE' });
  expect(response.headers.get('Allow')).toBe('GET, HEAD, PUT');
  expect(await answerOf(response)).toEqual({ status: 405, body: { error: 'the method must be GET or PUT' } });
  expect((await get('/cached', { method: 'POST' })).headers.get('Allow')).toBe('GET, HEAD');
  expect((await sendRaw(kit.port, 'PURGE /cached HTTP/1.1\r\nHost: x\r\n\r\n')).split('\r\n')[0]).toBe('HTTP/1.1 405 Method Not Allowed');
});

test('OPTIONS tells what a path knows', async () => {
  const response = await get('/things/1', { method: 'OPTIONS' });
  expect([response.status, response.headers.get('Allow')]).toEqual([204, 'GET, HEAD, PUT']);
  expect((await get('/nowhere', { method: 'OPTIONS' })).status).toBe(404);
});

test('literal paths win over parameters', async () => {
  expect(await answerOf(await get('/things/first'))).toEqual({ status: 200, body: { text: 'literal' } });
});

test('HEAD answers as GET does, without the body', async () => {
  const [head, full] = await Promise.all([get('/things/1', { method: 'HEAD' }), get('/things/1')]);
  expect([head.status, await head.text()]).toEqual([200, '']);
  for (const name of ['content-type', 'content-length']) expect(head.headers.get(name)).toBe(full.headers.get(name));
  expect((await get('/picture', { method: 'HEAD' })).headers.get('content-length')).toBe('3');
  expect((await get('/nowhere', { method: 'HEAD' })).status).toBe(404);
});

test('HEAD of an endless stream ends at once', async () => {
  const response = await get('/endless', { method: 'HEAD' });
  expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([200, 'text/event-stream; charset=utf-8', '']);
});

test.each([
  '/things/%',
  '/things/%zz',
  '/things/%c3%28',
  '/things/%ed%a0%80',
  '/%',
  '/things/%00',
  '/things/..%2f..%2fetc%2fpasswd',
  `/things/${'a'.repeat(600)}`,
])('garbage in a path is refused, never a fault: %s', async (path) => {
  const answer = await sendRaw(kit.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 (?:200|400|404) /);
  expect(answer).not.toContain('root:');
});

test.each([
  '/../../etc/passwd',
  '/docs/../../package.json',
  '/docs/..%2f..%2fpackage.json',
  '/docs/%2e%2e/package.json',
  '//etc/passwd',
  '/docs//swagger-ui.css',
])('no path leads out of what is served: %s', async (path) => {
  const answer = await sendRaw(kit.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 404 /);
});

test.each([
  ['limit=0', 'limit must be at least 1'],
  ['limit=501', 'limit must be at most 500'],
  ['limit=1.5', 'limit must be an integer'],
  ['limit=abc', 'limit must be a number'],
  ['limit=1&limit=2', 'limit must be a number'],
])('a wrong query parameter is named: %s', async (query, error) => {
  expect(await answerOf(await get(`/things/1?${query}`))).toEqual({ status: 400, body: { error } });
});

test('unknown query parameters are ignored, and broken escapes in them harm nothing', async () => {
  expect(await answerOf(await get('/things/1?limit=3&utm_source=x&__proto__[a]=1'))).toEqual({ status: 200, body: { id: '1', limit: 3 } });
  expect(await sendRaw(kit.port, 'GET /things/1?a=%zz&%=1 HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
});

test('a query is read as it is written, however long it is', () => {
  expect(readQuery('a=1&b=%20&a=2&c&a=')).toEqual({ a: ['1', '2', ''], b: ' ', c: '' });
  const prototype = readQuery('__proto__=x');
  expect([Object.keys(prototype), Object.getPrototypeOf(prototype)]).toEqual([['__proto__'], Object.prototype]);
  const before = process.cpuUsage();
  expect(readQuery('a&'.repeat(100_000)).a).toHaveLength(100_000);
  const names = Array.from({ length: 100_000 }, (_, i) => i).join('&');
  expect(Object.keys(readQuery(names))).toHaveLength(100_000);
  // In µs. The square of either would take minutes.
  expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
});

test('a wrong path parameter is 400 and named', async () => {
  expect(await answerOf(await get(`/things/${'a'.repeat(21)}`))).toEqual({ status: 400, body: { error: 'id must be at most 20 characters long' } });
});

test('what may be kept has an ETag, and is 304 for who has it', async () => {
  const first = await get('/cached');
  const etag = first.headers.get('ETag') ?? '';
  expect(etag).toMatch(/^"[\w-]{22}"$/);
  expect(first.headers.get('Cache-Control')).toBe('public, max-age=60');
  const again = await get('/cached', { headers: { 'If-None-Match': etag } });
  expect([again.status, await again.text(), again.headers.get('ETag')]).toEqual([304, '', etag]);
  expect((await get('/cached', { headers: { 'If-None-Match': '"other"' } })).status).toBe(200);
  expect((await get('/things/1')).headers.get('Cache-Control')).toBe('no-store');
});

test('a request id is echoed when it is one, and made up otherwise', async () => {
  const id = async (given: string) => (await get('/cached', { headers: { 'X-Request-Id': given } })).headers.get('X-Request-Id');
  expect(await id('my-request.1')).toBe('my-request.1');
  for (const bad of ['a b', 'x'.repeat(65), '<script>']) expect(await id(bad)).toMatch(/^[0-9a-f-]{36}$/);
});

test('a fault is a bare 500: nothing of its cause', async () => {
  const response = await get('/broken');
  expect(response.headers.get('X-Request-Id')).not.toBeNull();
  expect(await answerOf(response)).toEqual({ status: 500, body: { error: 'internal server error' } });
});

test.each(['/undeclared-status', '/undeclared-refusal', '/wrong-shape'])('an answer that the route does not declare fails: %s', async (path) => {
  expect(await answerOf(await get(path))).toEqual({ status: 500, body: { error: 'internal server error' } });
});

test('in production an answer that the route does not declare is logged, and sent', async () => {
  const production = await startKit(routes, {
    env: {
      NODE_ENV: 'production',
      SESSION_KEYS: 'k'.repeat(40),
      RECEIPT_KEY: Buffer.alloc(32, 7).toString('base64'),
      MEDIA_FOLDER: '/var/lib/coinop/media',
      DATABASE_URL: 'postgresql://127.0.0.1:1/none',
    },
  });
  try {
    expect((await fetch(`${production.url}/undeclared-refusal`)).status).toBe(409);
    expect(await answerOf(await fetch(`${production.url}/wrong-shape`))).toEqual({ status: 200, body: { text: 7 } });
  } finally {
    await production.close();
  }
});

test('every answer says that its type is its type', async () => {
  for (const path of ['/cached', '/nowhere', '/picture']) expect((await get(path)).headers.get('X-Content-Type-Options')).toBe('nosniff');
});
