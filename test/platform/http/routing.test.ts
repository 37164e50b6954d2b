import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { JsonText } from '#platform/http/json-text.ts';
import { readQuery } from '#platform/http/query.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { readResponse, sendRaw, startTestServer, type TestServer } from '#test/support/http/framework.ts';
import { PRODUCTION } from '#test/support/production.ts';

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
    summary: 'Is cached',
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
    summary: 'Writes the response itself',
    returns: { 200: stream('text/event-stream') },
    fails: [],
    handler: async () => reply(200, (response: ServerResponse) => void response.write('data: 1\n\n')),
  }),
  route({
    method: 'get',
    path: '/undeclared-status',
    auth: 'public',
    summary: 'Returns an undeclared status',
    returns: { 200: Text, 201: Text },
    fails: [],
    handler: async () => JSON.parse('{"status":202,"body":{"text":""}}'),
  }),
  route({
    method: 'get',
    path: '/undeclared-error',
    auth: 'public',
    summary: 'Throws an undeclared status',
    returns: { 200: Text },
    fails: [],
    handler: () => Promise.reject(fail(409, 'not declared')),
  }),
  route({
    method: 'get',
    path: '/wrong-shape',
    auth: 'public',
    summary: 'Returns a body of another schema',
    returns: { 200: Text },
    fails: [],
    handler: async () => JSON.parse('{"status":200,"body":{"text":7}}'),
  }),
  route({
    method: 'get',
    path: '/encoded/{text}',
    auth: 'public',
    summary: 'Returns a body that is encoded already',
    params: z.object({ text: z.string() }),
    returns: { 200: Text },
    fails: [],
    handler: async ({ params }) => reply(200, new JsonText(params.text)),
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

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(routes);
});
afterAll(() => server.close());
const get = (path: string, init?: RequestInit) => fetch(`${server.url}${path}`, init);

test('an unknown path gets a 404 with one sentence', async () => {
  expect(await readResponse(await get('/nowhere'))).toEqual({ status: 404, body: { error: 'no such resource' } });
  expect((await get('/things/1/more')).status).toBe(404);
  expect((await get('/THINGS/1')).status).toBe(404);
  expect((await get('/things/1/')).status).toBe(404);
});

test('an unsupported method gets a 405 with the supported methods', async () => {
  const response = await get('/things/1', { method: 'DELETE' });
  expect(response.headers.get('Allow')).toBe('GET, HEAD, PUT');
  expect(await readResponse(response)).toEqual({ status: 405, body: { error: 'the method must be GET or PUT' } });
  expect((await get('/cached', { method: 'POST' })).headers.get('Allow')).toBe('GET, HEAD');
  expect((await sendRaw(server.port, 'PURGE /cached HTTP/1.1\r\nHost: x\r\n\r\n')).split('\r\n')[0]).toBe('HTTP/1.1 405 Method Not Allowed');
});

test('OPTIONS returns the methods of a path', async () => {
  const response = await get('/things/1', { method: 'OPTIONS' });
  expect([response.status, response.headers.get('Allow')]).toEqual([204, 'GET, HEAD, PUT']);
  expect((await get('/nowhere', { method: 'OPTIONS' })).status).toBe(404);
});

test('a literal path takes precedence over a path parameter', async () => {
  expect(await readResponse(await get('/things/first'))).toEqual({ status: 200, body: { text: 'literal' } });
});

test('HEAD returns the status and headers of GET without the body', async () => {
  const [head, full] = await Promise.all([get('/things/1', { method: 'HEAD' }), get('/things/1')]);
  expect([head.status, await head.text()]).toEqual([200, '']);
  for (const name of ['content-type', 'content-length']) expect(head.headers.get(name)).toBe(full.headers.get(name));
  expect((await get('/picture', { method: 'HEAD' })).headers.get('content-length')).toBe('3');
  expect((await get('/nowhere', { method: 'HEAD' })).status).toBe(404);
});

test('HEAD of an endless stream ends immediately', async () => {
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
])('an invalid path gets 200, 400 or 404 and never a 5xx: %s', async (path) => {
  const answer = await sendRaw(server.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
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
])('a path traversal gets a 404: %s', async (path) => {
  const answer = await sendRaw(server.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 404 /);
});

test.each([
  ['limit=0', 'limit must be at least 1'],
  ['limit=501', 'limit must be at most 500'],
  ['limit=1.5', 'limit must be an integer'],
  ['limit=abc', 'limit must be a number'],
  ['limit=1&limit=2', 'limit must be a number'],
])('an invalid query parameter gets a 400 with its name: %s', async (query, error) => {
  expect(await readResponse(await get(`/things/1?${query}`))).toEqual({ status: 400, body: { error } });
});

test('unknown query parameters and invalid escapes in them are ignored', async () => {
  expect(await readResponse(await get('/things/1?limit=3&utm_source=x&__proto__[a]=1'))).toEqual({ status: 200, body: { id: '1', limit: 3 } });
  expect(await sendRaw(server.port, 'GET /things/1?a=%zz&%=1 HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
});

test('readQuery parses repeated, empty and very many parameters in linear time', () => {
  expect(readQuery('a=1&b=%20&a=2&c&a=')).toEqual({ a: ['1', '2', ''], b: ' ', c: '' });
  const prototype = readQuery('__proto__=x');
  expect([Object.keys(prototype), Object.getPrototypeOf(prototype)]).toEqual([['__proto__'], Object.prototype]);
  const before = process.cpuUsage();
  expect(readQuery('a&'.repeat(100_000)).a).toHaveLength(100_000);
  const names = Array.from({ length: 100_000 }, (_, i) => i).join('&');
  expect(Object.keys(readQuery(names))).toHaveLength(100_000);
  // CPU time in µs. Quadratic time would be minutes.
  expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
});

test('an invalid path parameter gets a 404 with its name', async () => {
  expect(await readResponse(await get(`/things/${'a'.repeat(21)}`))).toEqual({
    status: 404,
    body: { error: 'no such resource: id must be at most 20 characters long' },
  });
});

test('a cached route has an ETag and returns 304 when it is in If-None-Match', async () => {
  const first = await get('/cached');
  const etag = first.headers.get('ETag') ?? '';
  expect(etag).toMatch(/^"[\w-]{22}"$/);
  expect(first.headers.get('Cache-Control')).toBe('public, max-age=60');
  const again = await get('/cached', { headers: { 'If-None-Match': etag } });
  expect([again.status, await again.text(), again.headers.get('ETag')]).toEqual([304, '', etag]);
  expect((await get('/cached', { headers: { 'If-None-Match': '"other"' } })).status).toBe(200);
  expect((await get('/things/1')).headers.get('Cache-Control')).toBe('no-store');
});

test('a valid X-Request-Id is returned, and an invalid one is replaced', async () => {
  const id = async (given: string) => (await get('/cached', { headers: { 'X-Request-Id': given } })).headers.get('X-Request-Id');
  expect(await id('my-request.1')).toBe('my-request.1');
  for (const bad of ['a b', 'x'.repeat(65), '<script>']) expect(await id(bad)).toMatch(/^[0-9a-f-]{36}$/);
});

test('an unexpected error gets a 500 without its message', async () => {
  const response = await get('/broken');
  expect(response.headers.get('X-Request-Id')).not.toBeNull();
  expect(await readResponse(response)).toEqual({ status: 500, body: { error: 'internal server error' } });
});

test.each(['/undeclared-status', '/undeclared-error', '/wrong-shape'])(
  'a response that the route does not declare becomes a 500 outside production: %s',
  async (path) => {
    expect(await readResponse(await get(path))).toEqual({ status: 500, body: { error: 'internal server error' } });
  },
);

const encoded = (text: string) => `/encoded/${encodeURIComponent(text)}`;

test('a body that is encoded already is sent as JSON, and is validated outside production', async () => {
  const response = await get(encoded('{"text":"é"}'));
  expect(response.headers.get('Content-Type')).toBe('application/json; charset=utf-8');
  expect(await readResponse(response)).toEqual({ status: 200, body: { text: 'é' } });
  expect((await get(encoded('{"text":7}'))).status).toBe(500);
});

test('a response that the route does not declare is sent in production', async () => {
  const production = await startTestServer(routes, {
    env: { ...PRODUCTION, DATABASE_URL: 'postgresql://127.0.0.1:1/none' },
  });
  try {
    expect((await fetch(`${production.url}/undeclared-error`)).status).toBe(409);
    expect(await readResponse(await fetch(`${production.url}/wrong-shape`))).toEqual({ status: 200, body: { text: 7 } });
    expect(await readResponse(await fetch(`${production.url}${encoded('{"text":7}')}`))).toEqual({ status: 200, body: { text: 7 } });
  } finally {
    await production.close();
  }
});

test('every response has X-Content-Type-Options: nosniff', async () => {
  for (const path of ['/cached', '/nowhere', '/picture']) expect((await get(path)).headers.get('X-Content-Type-Options')).toBe('nosniff');
});
