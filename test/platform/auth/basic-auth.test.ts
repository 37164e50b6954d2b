import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { statement } from '#platform/db/sql.ts';
import { openApi } from '#platform/http/openapi/document.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { answerOf, type Kit, startKit, TOKENS } from '#test/support/http/framework.ts';

const Operator = z.object({ admin: z.string() });
const routes = [
  route({
    method: 'get',
    path: '/admin/page',
    auth: 'basic',
    summary: 'A page of operators',
    returns: { 200: stream('text/html') },
    fails: [],
    handler: async ({ admin }) => reply(200, `<p>${admin}</p>`),
  }),
  route({
    method: 'post',
    path: '/admin/page',
    auth: 'basic',
    summary: 'What an operator does there',
    returns: { 200: Operator },
    fails: [],
    handler: async ({ admin }) => reply(200, { admin }),
  }),
];

let kit: Kit;
beforeAll(async () => {
  kit = await startKit(routes);
});
afterAll(() => kit.close());

const basic = (token: string, user = 'anyone') => `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`;
const ask = (method: string, headers: Record<string, string>) => fetch(`${kit.url}/admin/page`, { method, headers });
const auditRows = statement<{ token_name: string; method: string; path: string }>(
  'test_basic_audit',
  'select token_name, method, path from admin_audit order by id',
);
const audited = () => kit.app.db.query(auditRows);

test.each([
  ['nothing', {}],
  ['a wrong password', { Authorization: basic('wrong-admin-token-0123456789') }],
  ['the token as the user', { Authorization: basic('', TOKENS.all) }],
  ['no colon', { Authorization: `Basic ${Buffer.from(TOKENS.all).toString('base64')}` }],
  ['a bearer token', { Authorization: `Bearer ${TOKENS.all}` }],
  ['the internal token', { Authorization: basic(TOKENS.internal) }],
] as [string, Record<string, string>][])('a page for operators asks for a password, and this is none: %s', async (_what, headers) => {
  for (const method of ['GET', 'POST']) {
    const response = await ask(method, headers);
    expect(response.headers.get('WWW-Authenticate')).toBe('Basic realm="Coinop", charset="UTF-8"');
    expect(await answerOf(response)).toEqual({
      status: 401,
      body: { error: 'Authorization must be HTTP Basic with an admin token as the password' },
    });
  }
  expect(await audited()).toEqual([]);
});

test('an admin token opens it, whatever the user and the scope; what is done is audited', async () => {
  const page = await ask('GET', { Authorization: basic(TOKENS.all) });
  expect([page.status, await page.text()]).toEqual([200, '<p>admin-1</p>']);
  expect(await audited()).toEqual([]);
  for (const headers of [{}, { Origin: kit.origin }, { Origin: kit.url, 'Sec-Fetch-Site': 'same-origin' }] as Record<string, string>[]) {
    expect(await answerOf(await ask('POST', { Authorization: basic(TOKENS.content, ''), ...headers }))).toEqual({
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
] as [Record<string, string>][])('a write from another page is refused, whatever password its browser adds: %j', async (headers) => {
  const before = await audited();
  expect(await answerOf(await ask('POST', { Authorization: basic(TOKENS.all), ...headers }))).toEqual({
    status: 403,
    body: { error: 'Origin must be that of this service' },
  });
  expect(await audited()).toEqual(before);
});

test('an allowed origin reads nothing of it', async () => {
  for (const authorization of [basic(TOKENS.all), '']) {
    const response = await ask('GET', { Origin: 'https://friend.example', Authorization: authorization });
    expect(response.headers.get('Access-Control-Allow-Origin')).toBeNull();
    expect(response.headers.get('Access-Control-Allow-Credentials')).toBeNull();
  }
});

test('the document says so', () => {
  const page = openApi(kit.app.config, routes).paths?.['/admin/page'];
  expect(page?.get?.security).toEqual([{ basic: [] }]);
  expect(Object.keys(page?.get?.responses ?? {})).toEqual(['200', '401', '500', '503']);
  expect(Object.keys(page?.post?.responses ?? {})).toEqual(['200', '400', '401', '403', '413', '415', '500', '503']);
});
