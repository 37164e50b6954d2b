import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { auditHash } from '#platform/auth/admin-tokens.ts';
import { statement } from '#platform/db/sql.ts';
import { reply, route } from '#platform/http/route.ts';
import { asOwner } from '#test/support/database.ts';
import { readResponse, startTestServer, type TestServer, TOKENS } from '#test/support/http/framework.ts';

let handled: (string | null)[] = [];
const Name = z.strictObject({ name: z.string().max(100).optional() });
const routes = [
  route({
    method: 'post',
    path: '/admin/money/{id}',
    auth: { admin: 'money' },
    summary: 'Makes a payment',
    params: z.object({ id: z.string() }),
    body: Name,
    returns: { 200: z.object({ by: z.string() }) },
    fails: [],
    async handler({ admin }) {
      handled.push(admin);
      return reply(200, { by: admin });
    },
  }),
  route({
    method: 'put',
    path: '/admin/theme',
    auth: { admin: 'content' },
    summary: 'Changes the theme',
    body: Name,
    returns: { 200: z.object({ by: z.string() }) },
    fails: [],
    handler: async ({ admin }) => reply(200, { by: admin }),
  }),
  route({
    method: 'get',
    path: '/admin/list',
    auth: { admin: 'content' },
    summary: 'Returns a list',
    returns: { 200: z.object({ by: z.string() }) },
    fails: [],
    handler: async ({ admin }) => reply(200, { by: admin }),
  }),
  route({
    method: 'post',
    path: '/import',
    auth: 'internal',
    summary: 'Imports data',
    body: Name,
    returns: { 204: null },
    fails: [],
    handler: async () => reply(204, null),
  }),
];

interface AuditRow {
  id: string;
  at: string;
  token_name: string;
  method: string;
  path: string;
  body_hash: Buffer;
  previous_hash: Buffer;
  hash: Buffer;
}
const auditRows = statement<AuditRow>(
  'test_audit_rows',
  `select id::text as id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, token_name, method, path, body_hash, previous_hash, hash
     from admin_audit order by admin_audit.id`,
);

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(routes);
});
afterAll(() => server.close());

const call = (method: string, path: string, authorization?: string, body: RequestInit['body'] = null) =>
  fetch(`${server.url}${path}`, {
    method,
    headers: {
      ...(authorization === undefined ? {} : { Authorization: authorization }),
      ...(body === null ? {} : { 'Content-Type': 'application/json' }),
    },
    body,
  });
const rows = () => server.app.db.query(auditRows);

test.each([
  ['no header', undefined],
  ['an empty header', ''],
  ['a wrong token', 'Bearer test-admin-token-0123456788'],
  ['a prefix of a token', 'Bearer server'],
  ['a token with another character', `Bearer ${TOKENS.all}0`],
  ['the token without its scheme', TOKENS.all],
  ['another scheme', `Basic ${Buffer.from(`admin:${TOKENS.all}`).toString('base64')}`],
  ['two tokens', `Bearer ${TOKENS.all} ${TOKENS.all}`],
  ['the internal token', `Bearer ${TOKENS.internal}`],
])('a request without a valid admin token gets a 403 and is not added to the audit log: %s', async (_case, authorization) => {
  handled = [];
  const before = (await rows()).length;
  expect(await readResponse(await call('POST', '/admin/money/1', authorization))).toEqual({
    status: 403,
    body: { error: 'Authorization must be a Bearer admin token' },
  });
  expect(handled).toEqual([]);
  expect((await rows()).length).toBe(before);
});

test('a token without the scope of the route gets a 403', async () => {
  expect(await readResponse(await call('POST', '/admin/money/1', `Bearer ${TOKENS.content}`))).toEqual({
    status: 403,
    body: { error: 'Authorization must be an admin token with the scope money' },
  });
  expect(await readResponse(await call('PUT', '/admin/theme', `Bearer ${TOKENS.content}`))).toEqual({ status: 200, body: { by: 'editor' } });
  expect((await call('PUT', '/admin/theme', `bearer ${TOKENS.all}`)).status).toBe(200);
});

test('an unauthorized request gets a 403 before its body is validated', async () => {
  expect((await call('POST', '/admin/money/1', undefined, '{"nonsense":1}')).status).toBe(403);
});

test('an action adds one row to the audit log; reading and invalid requests add none', async () => {
  const before = (await rows()).length;
  expect((await call('GET', '/admin/list', `Bearer ${TOKENS.all}`)).status).toBe(200);
  expect((await call('POST', '/admin/money/7', `Bearer ${TOKENS.all}`, '{"nonsense":1}')).status).toBe(400);
  expect((await rows()).length).toBe(before);
  const body = '{ "name": "ünïcode 😀" }';
  expect(await readResponse(await call('POST', '/admin/money/7?why=test', `Bearer ${TOKENS.all}`, body))).toEqual({
    status: 200,
    body: { by: 'admin-1' },
  });
  const after = await rows();
  expect(after.length).toBe(before + 1);
  expect(after.at(-1)).toMatchObject({ token_name: 'admin-1', method: 'POST', path: '/admin/money/7?why=test' });
  expect(after.at(-1)?.body_hash.toString('hex')).toBe(createHash('sha256').update(Buffer.from(body)).digest('hex'));
});

test('an internal route accepts the internal token and an admin token with the scope money', async () => {
  expect((await call('POST', '/import', `Bearer ${TOKENS.internal}`, '{}')).status).toBe(204);
  expect((await call('POST', '/import', `Bearer ${TOKENS.all}`, '{}')).status).toBe(204);
  expect((await call('POST', '/import', `Bearer ${TOKENS.content}`, '{}')).status).toBe(403);
  expect((await call('POST', '/import')).status).toBe(403);
  expect((await rows()).slice(-2).map((row) => row.token_name)).toEqual(['internal-1', 'admin-1']);
});

test('concurrent actions form one hash chain that can be recomputed', async () => {
  await Promise.all(Array.from({ length: 20 }, (_, i) => call('PUT', '/admin/theme', `Bearer ${TOKENS.content}`, JSON.stringify({ name: `n${i}` }))));
  let previous: Buffer = Buffer.alloc(0);
  let id = 0;
  for (const row of await rows()) {
    expect(row.id).toBe(String(++id));
    expect(row.previous_hash.equals(previous)).toBe(true);
    const action = { tokenName: row.token_name, method: row.method, path: row.path, bodyHash: row.body_hash };
    expect(row.hash.equals(auditHash(previous, row.id, row.at, action))).toBe(true);
    // Computes the hash independently of `auditHash`.
    const fields = JSON.stringify([row.id, row.at, row.token_name, row.method, row.path, row.body_hash.toString('hex')]);
    expect(row.hash.toString('hex')).toBe(createHash('sha256').update(previous).update(fields).digest('hex'));
    previous = row.hash;
  }
  expect(id).toBeGreaterThan(20);
});

test('the audit log cannot be updated, deleted or truncated', async () => {
  for (const change of [
    statement('test_update_audit', "update admin_audit set path = '/'"),
    statement('test_delete_audit', 'delete from admin_audit'),
    statement('test_truncate_audit', 'truncate admin_audit'),
  ]) {
    await expect(asOwner(server.app, (tx) => tx.query(change))).rejects.toThrow('append-only');
  }
});

test('the source compares tokens with timingSafeEqual only', async () => {
  const source = await readFile(new URL('../../../src/platform/auth/admin-tokens.ts', import.meta.url), 'utf8');
  expect(source).toContain('timingSafeEqual(digest(entry.token), given)');
  expect(source).not.toMatch(/\.token ===|=== entry|break;/);
});
