import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { rights } from '#areas/rights.ts';
import { SERVICE_ROLE } from '#dev/stack/postgres-cluster.ts';
import { grantRights } from '#platform/db/rights.ts';
import { declaredStatements } from '#platform/db/sql.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '#test/support/database.ts';
import { PLAN_ONCE, planOf, usesTables } from '#test/support/statements/plans.ts';

const src = join(import.meta.dirname, '../../../src');
/** Modules that start a process when they are imported. */
const PROGRAMS = new Set(['server.ts', 'migrate.ts']);
/** Only the migration, development and tests shift the clock. */
const OF_THE_OWNER = new Set(['set_app_clock']);

let database: TestDatabase;
let owner: pg.Client;
let service: pg.Client;
beforeAll(async () => {
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.ts') && !PROGRAMS.has(file) && !file.endsWith('thread.ts')) await import(join(src, file));
  }
  database = await createDatabase();
  owner = new pg.Client({ connectionString: database.url });
  service = new pg.Client({ connectionString: database.serviceUrl });
  await Promise.all([owner.connect(), service.connect()]);
});
afterAll(async () => {
  await Promise.all([owner.end(), service.end()]);
  await database.drop();
});

const namesOf = async (client: pg.Client, query: string): Promise<string[]> =>
  (await client.query<{ name: string }>(query)).rows.map(({ name }) => name);
/** Returns the message of the error, or 'allowed'. */
const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'allowed',
    (error: Error) => error.message,
  );
const failureOf = (client: pg.Client, query: string): Promise<string> => messageOf(client.query(query));

test('every table stands in exactly one list of rights, and every sequence without an owner column in the list of sequences', async () => {
  const tables = await namesOf(
    owner,
    `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  const listed = [...rights.read, ...rights.append, ...rights.keep, ...rights.change];
  expect(listed.toSorted()).toEqual(tables);
  const sequences = await namesOf(
    owner,
    `select relname::text as name from pg_class c where relnamespace = 'public'::regnamespace and relkind = 'S'
     and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i')) order by 1`,
  );
  expect(rights.sequences.toSorted()).toEqual(sequences);
});

test('the service has the rights to run each of its named statements', async () => {
  const refused = [];
  await service.query(PLAN_ONCE);
  for (const [name, one] of declaredStatements()) {
    if (name.startsWith('test_') || OF_THE_OWNER.has(name)) continue;
    // Everybody may run the other statements.
    if (!usesTables(one)) {
      expect(one.text).toMatch(/^\s*(?:set local|savepoint|release|rollback)\b/);
      continue;
    }
    // EXPLAIN checks the rights on every table of the plan, and changes nothing.
    const failure = await messageOf(planOf(service, one));
    if (failure !== 'allowed') refused.push(`${name}: ${failure}`);
  }
  expect(refused).toEqual([]);
});

test.each(rights.append)('the service inserts rows into %s, and can neither change, delete nor truncate them', async (table) => {
  const { rows } = await service.query(
    `select has_table_privilege($1, 'select') as reads, has_table_privilege($1, 'insert') as inserts,
       has_any_column_privilege($1, 'update') as updates, has_table_privilege($1, 'delete, truncate, references, trigger') as changes`,
    [table],
  );
  expect(rows).toEqual([{ reads: true, inserts: true, updates: false, changes: false }]);
});

test('every table whose rows the database keeps unchanged is read-only or append-only for the service', async () => {
  const tables = await namesOf(
    owner,
    `select tgrelid::regclass::text as name from pg_trigger where not tgisinternal and tgparentid = 0 and tgfoid = 'refuse_change'::regproc
     group by 1 having bit_or(tgtype::int) & 24 = 24 order by 1`,
  );
  expect(tables).toEqual(expect.arrayContaining(['ledger', 'admin_audit', 'erasures']));
  expect(tables.filter((table) => ![...rights.read, ...rights.append].includes(table))).toEqual([]);
});

test.each([
  'create table stolen (id int)',
  'alter table ledger disable trigger ledger_append_only',
  'drop table ledger',
  'truncate outbox',
  'update ledger set wallet = wallet',
  'delete from admin_audit',
  'update payments set id = id; delete from payments',
  'update game_records set salt = null, record = null',
  `insert into game_record_erasures (record_id, erased_by, reason) values (gen_random_uuid(), 'x', 'y')`,
  `insert into app_clock (shift) values ('1 day')`,
  'create or replace function app_now() returns timestamptz language sql as $$ select now() $$',
  'set session_replication_role = replica',
  'create role thief',
  `insert into migrations (name) values ('0099-none')`,
])('the service is refused: %s', async (text) => {
  const name = text.slice(0, 40);
  const direct = new pg.Client({ connectionString: database.url.replace('//coinop@', `//${SERVICE_ROLE}@`) });
  await direct.connect();
  try {
    expect([name, await failureOf(direct, text)]).toEqual([name, expect.stringMatching(/permission denied|must be owner/)]);
  } finally {
    await direct.end();
  }
});

test('functions that run with the rights of the owner have a fixed search path, and only the service may call them', async () => {
  const { rows } = await owner.query(
    `select oid::regprocedure::text as name, proconfig::text as config, has_function_privilege('public', oid, 'execute') as open,
       prorettype = 'trigger'::regtype as trigger
     from pg_proc where pronamespace = 'public'::regnamespace and prosecdef order by 1`,
  );
  // A trigger runs its function without a right of the caller.
  expect(rows.flatMap(({ name, trigger }) => (trigger ? [] : [name]))).toEqual(rights.functions.map((name) => name.replaceAll(', ', ',')).toSorted());
  for (const row of rows) expect(row).toMatchObject({ config: '{"search_path=public, pg_temp"}', open: false });
  expect(await failureOf(service, 'select analyze_finals(), analyze_rewards()')).toBe('allowed');
});

test('rights are replaced: a right that the list does not name any more is taken away, and unknown names are skipped', async () => {
  const changed = { ...rights, append: [...rights.append.filter((name) => name !== 'entries'), 'gone'], read: [...rights.read, 'entries'] };
  await grantRights(owner, SERVICE_ROLE, { ...changed, functions: [...rights.functions, 'gone(uuid)'], sequences: [...rights.sequences, 'gone_id'] });
  const canInsert = `select has_table_privilege('${SERVICE_ROLE}', 'entries', 'insert')::text as name`;
  expect(await namesOf(owner, canInsert)).toEqual(['false']);
  await grantRights(owner, SERVICE_ROLE, rights);
  expect(await namesOf(owner, canInsert)).toEqual(['true']);
});

/** Runs src/migrate.ts. */
const runMigrate = (env: Record<string, string>, ...args: string[]) =>
  promisify(execFile)(process.execPath, [join(src, 'migrate.ts'), ...args], { env: { PATH: process.env.PATH, LOG_LEVEL: 'info', ...env } });

test('src/migrate.ts with both URLs grants the rights, and a wrong DATABASE_URL changes nothing', async () => {
  const empty = await createEmptyDatabase();
  try {
    const none = empty.url.replace('//coinop@', '//nobody_has_this_role@');
    await expect(runMigrate({ DATABASE_URL: none, MIGRATION_DATABASE_URL: empty.url })).rejects.toThrow('DATABASE_URL: its role cannot connect');
    const client = new pg.Client({ connectionString: empty.url });
    await client.connect();
    expect(await namesOf(client, `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace`)).toEqual([]);
    const urls = { DATABASE_URL: empty.url.replace('//coinop@', `//${SERVICE_ROLE}@`), MIGRATION_DATABASE_URL: empty.url };
    await Promise.all([runMigrate(urls), runMigrate(urls)]);
    await runMigrate(urls);
    const canInsert = `select has_table_privilege('${SERVICE_ROLE}', 'ledger', 'insert')::text as name`;
    expect(await namesOf(client, canInsert)).toEqual(['true']);
    await client.end();
  } finally {
    await empty.drop();
  }
});
