import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { statement } from '#platform/db/sql.ts';
import { openApi } from '#platform/http/openapi/document.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { readResponse, startTestServer, type TestServer, TOKENS } from '#test/support/http/framework.ts';

const Operator = z.object({ admin: z.string() });
const routes = [
  route({
    method: 'get',
    path: '/admin/page',
    auth: 'basic',
    summary: 'An operator page',
    returns: { 200: stream('text/html') },
    fails: [],
    handler: async ({ admin }) => reply(200, `<p>${admin}</p>`),
  }),
  route({
    method: 'post',
    path: '/admin/page',
    auth: 'basic',
    summary: 'An operator action',
    returns: { 200: Operator },
    fails: [],
    handler: async ({ admin }) => reply(200, { admin }),
  }),
];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(routes);
});
afterAll(() => server.close());

const basic = (token: string, user = 'anyone') => `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`;
const request = (method: string, headers: Record<string, string>) => fetch(`${server.url}/admin/page`, { method, headers });
const auditRows = statement<{ token_name: string; method: string; path: string }>(
  'test_basic_audit',
  'select token_name, method, path from admin_audit order by id',
);
const audited = () => server.app.db.query(auditRows);

test.each([
  ['no credentials', {}],
  ['a wrong password', { Authorization: basic('wrong-admin-token-0123456789') }],
  ['the token as the user', { Authorization: basic('', TOKENS.all) }],
  ['no colon', { Authorization: `Basic ${Buffer.from(TOKENS.all).toString('base64')}` }],
  ['a bearer token', { Authorization: `Bearer ${TOKENS.all}` }],
  ['the internal token', { Authorization: basic(TOKENS.internal) }],
] as [string, Record<string, string>][])('an operator page without a valid password gets a 401 with a challenge: %s', async (_case, headers) => {
  for (const method of ['GET', 'POST']) {
    const response = await request(method, headers);
    expect(response.headers.get('WWW-Authenticate')).toBe('Basic realm="Coinop", charset="UTF-8"');
    expect(await readResponse(response)).toEqual({
      status: 401,
      body: { error: 'Authorization must be HTTP Basic with an admin token as the password' },
    });
  }
  expect(await audited()).toEqual([]);
});

test('any admin token opens an operator page with any user name, and actions are added to the audit log', async () => {
  const page = await request('GET', { Authorization: basic(TOKENS.all) });
  expect([page.status, await page.text()]).toEqual([200, '<p>admin-1</p>']);
  expect(await audited()).toEqual([]);
  for (const headers of [{}, { Origin: server.origin }, { Origin: server.url, 'Sec-Fetch-Site': 'same-origin' }] as Record<string, string>[]) {
    expect(await readResponse(await request('POST', { Authorization: basic(TOKENS.content, ''), ...headers }))).toEqual({
      status: 200,
      body: { admin: 'editor' },
    });
  }
  expect(await audited()).toEqual(Array.from({ length: 3 }, () => ({ token_name: 'editor', method: 'POST', path: '/admin/page' })));
});

test.each([
  [{ Origin: 'https://evil.example' }],
  [{ Origin: 'https://friend.example' }],
  [{ Origin: 'null' }],
  [{ 'Sec-Fetch-Site': 'cross-site' }],
  [{ 'Sec-Fetch-Site': 'same-site' }],
  [{ Origin: 'http://coinop.test', 'Sec-Fetch-Site': 'cross-site' }],
] as [Record<string, string>][])('a write from another origin gets a 403 although the browser sends the credentials: %j', async (headers) => {
  const before = await audited();
  expect(await readResponse(await request('POST', { Authorization: basic(TOKENS.all), ...headers }))).toEqual({
    status: 403,
    body: { error: 'Origin must be that of this service' },
  });
  expect(await audited()).toEqual(before);
});

test('an operator page sends no CORS headers to an allowed origin', async () => {
  for (const authorization of [basic(TOKENS.all), '']) {
    const response = await request('GET', { Origin: 'https://friend.example', Authorization: authorization });
    expect(response.headers.get('Access-Control-Allow-Origin')).toBeNull();
    expect(response.headers.get('Access-Control-Allow-Credentials')).toBeNull();
  }
});

test('the OpenAPI document lists basic authentication and its error statuses', () => {
  const page = openApi(server.app.config, routes).paths?.['/admin/page'];
  expect(page?.get?.security).toEqual([{ basic: [] }]);
  expect(Object.keys(page?.get?.responses ?? {})).toEqual(['200', '401', '429', '500', '503']);
  expect(Object.keys(page?.post?.responses ?? {})).toEqual(['200', '400', '401', '403', '413', '415', '429', '500', '503']);
});
