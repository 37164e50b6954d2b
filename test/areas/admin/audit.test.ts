import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { AuditEntry } from '#areas/admin/schemas.ts';
import { verifyAdminAudit } from '#platform/auth/audit-log.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

const CONTENT = 'content-admin-token-0123456789';
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ADMIN_TOKENS: `${ADMIN_TOKEN},editor:content:${CONTENT}` } });
  for (let i = 0; i < 10; i++) await post('/admin/event', { name: `event ${i}` });
});
afterAll(() => t.close());

const post = (path: string, json: unknown) => send(t, path, { json, headers: { Authorization: `Bearer ${CONTENT}` } });

const audit = (query = '') => send(t, `/admin/audit${query}`, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });

test('the audit lists every request, newest first, with the chain of hashes', async () => {
  await post('/admin/event', { name: 'last' });
  await post('/admin/cabinet/release', { cabinetId: 'cabinet-99' });
  const response = await audit('?limit=3');
  const total = Number(response.headers.get('X-Total-Count'));
  const entries = await jsonOf(response, z.array(AuditEntry));
  expect(entries.map(({ id, tokenName, method, path }) => [id, tokenName, method, path]).slice(0, 2)).toEqual([
    [String(total), 'editor', 'POST', '/admin/cabinet/release'],
    [String(total - 1), 'editor', 'POST', '/admin/event'],
  ]);
  expect(entries[0]?.previousHash).toBe(entries[1]?.hash);
  const [oldest] = await jsonOf(audit(`?offset=${total - 1}`), z.array(AuditEntry));
  expect([oldest?.id, oldest?.previousHash]).toEqual(['1', '']);
  expect(await (await audit(`?offset=${total}`)).json()).toEqual([]);
});

test('the audit is exported as NDJSON, oldest first, from any entry on', async () => {
  const lines = async (query: string) => {
    const response = await audit(`?format=ndjson${query}`);
    expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'application/x-ndjson']);
    const text = await response.text();
    return text === ''
      ? []
      : text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as { id: string; at: string; hash: string; previousHash: string });
  };
  const all = await lines('');
  const total = Number((await audit('?limit=1')).headers.get('X-Total-Count'));
  expect(all.map(({ id }) => Number(id))).toEqual(Array.from({ length: total }, (_, i) => i + 1));
  expect(all.slice(1).every(({ previousHash }, i) => previousHash === all[i]?.hash)).toBe(true);
  expect(await lines(`&after=${total - 2}`)).toEqual(all.slice(-2));
  expect(await lines(`&after=${total}`)).toEqual([]);
  expect((await audit('?format=xml')).status).toBe(400);
});

test('the audit detects a changed or deleted entry when the hashes are recomputed', async () => {
  const { entries, hash, fault } = await verifyAdminAudit(t.app.db);
  const [{ n, last } = { n: 0, last: '' }] = await sql<{ n: number; last: string }>(
    t.app,
    `select count(*)::int as n, (array_agg(encode(hash, 'hex') order by id desc))[1] as last from admin_audit`,
  );
  expect([entries, hash, fault]).toEqual([n, last, null]);
  const tamper = async (change: string) => {
    await sql(t.app, 'alter table admin_audit disable trigger admin_audit_append_only');
    await sql(t.app, change);
    return await verifyAdminAudit(t.app.db);
  };
  await sql(t.app, 'create table kept_audit as select * from admin_audit');
  const restore = `with gone as (delete from admin_audit) select 1`;
  for (const [change, found, what] of [
    [`update admin_audit set path = '/admin/innocent' where id = 7`, 6, 'entry 7 does not match its hash'],
    ['delete from admin_audit where id = 9', 8, 'entry 9 is missing'],
    [`update admin_audit set previous_hash = hash where id = 5`, 4, 'entry 5 does not contain the hash of the previous entry'],
  ] as const) {
    expect(await tamper(change)).toMatchObject({ entries: found, fault: what });
    await sql(t.app, restore);
    await sql(t.app, 'insert into admin_audit select * from kept_audit');
  }
  expect(await verifyAdminAudit(t.app.db)).toMatchObject({ entries: n, fault: null });
});
