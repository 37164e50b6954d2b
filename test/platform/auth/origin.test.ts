import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { reply, route } from '#platform/http/route.ts';
import { readResponse, startTestServer, type TestServer } from '#test/support/http/framework.ts';

const METHODS = ['post', 'put', 'patch', 'delete'] as const;
const routes = [
  ...METHODS.map((method) =>
    route({
      method,
      path: '/thing',
      auth: 'public',
      summary: 'Changes the thing',
      returns: { 204: null },
      fails: [],
      handler: async () => reply(204, null),
    }),
  ),
  route({
    method: 'get',
    path: '/thing',
    auth: 'public',
    summary: 'Reads the thing',
    returns: { 200: z.object({}) },
    fails: [],
    handler: async () => reply(200, {}, { 'X-Total-Count': '1' }),
  }),
];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(routes);
});
afterAll(() => server.close());

const OURS = 'http://coinop.test';
const FRIEND = 'https://friend.example';
const FOREIGN = 'https://evil.example';
const send = (method: string, headers: Record<string, string>, path = '/thing') =>
  fetch(`${server.url}${path}`, { method: method.toUpperCase(), headers });

const FORBIDDEN = { status: 403, body: { error: 'Origin must be the origin of this service or an allowed origin' } };

test.each(METHODS)('%s is accepted from pages of the service, from allowed origins and from clients that are not browsers', async (method) => {
  for (const headers of [
    {},
    { Origin: OURS },
    { Origin: FRIEND, 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
  ] as Record<string, string>[]) {
    expect((await send(method, headers)).status).toBe(204);
  }
});

test.each(METHODS)('%s from a page of another origin gets a 403', async (method) => {
  for (const headers of [
    { Origin: FOREIGN },
    { Origin: 'null' },
    { Origin: `${OURS}.evil.example` },
    { Origin: OURS.toUpperCase() },
    { Origin: `${OURS}, ${FOREIGN}` },
    { Origin: 'https://coinop.test' },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
  ] as Record<string, string>[]) {
    expect(await readResponse(await send(method, headers))).toEqual(FORBIDDEN);
  }
});

test('a GET from another origin gets no CORS headers, so the browser hides the response', async () => {
  const response = await send('get', { Origin: FOREIGN });
  expect([response.status, response.headers.get('Access-Control-Allow-Origin')]).toEqual([200, null]);
  expect(response.headers.get('Vary')).toBe('Origin');
});

test('an allowed origin can read responses with credentials and the exposed headers', async () => {
  const { headers } = await send('get', { Origin: FRIEND });
  expect(headers.get('Access-Control-Allow-Origin')).toBe(FRIEND);
  expect(headers.get('Access-Control-Allow-Credentials')).toBe('true');
  for (const name of ['X-Total-Count', 'ETag', 'Retry-After', 'Location']) expect(headers.get('Access-Control-Expose-Headers')).toContain(name);
});

test('an allowed origin can read error responses', async () => {
  const response = await send('get', { Origin: FRIEND }, '/nowhere');
  expect([response.status, response.headers.get('Access-Control-Allow-Origin')]).toEqual([404, FRIEND]);
});

test('a preflight request of an allowed origin is answered with CORS headers on any path', async () => {
  for (const path of ['/thing', '/nowhere']) {
    const requestHeaders = {
      Origin: FRIEND,
      'Access-Control-Request-Method': 'PUT',
      'Access-Control-Request-Headers': 'content-type, idempotency-key',
    };
    const { status, headers } = await send('options', requestHeaders, path);
    expect([status, headers.get('Access-Control-Allow-Origin'), headers.get('Access-Control-Allow-Credentials')]).toEqual([204, FRIEND, 'true']);
    expect(headers.get('Access-Control-Allow-Methods')).toContain('PUT');
    expect(headers.get('Access-Control-Allow-Headers')?.toLowerCase()).toContain('idempotency-key');
    expect(headers.get('Access-Control-Max-Age')).toBe('600');
  }
});

test('a preflight request of another origin gets no CORS headers', async () => {
  for (const origin of [FOREIGN, 'null']) {
    const { headers } = await send('options', { Origin: origin, 'Access-Control-Request-Method': 'POST' });
    for (const name of ['Origin', 'Credentials', 'Methods', 'Headers']) expect(headers.get(`Access-Control-Allow-${name}`)).toBeNull();
  }
});
