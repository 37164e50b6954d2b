import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { entities } from '#areas/registry.ts';
import { readConfig } from '#config';
import { migrations } from '#platform/db/migrations/index.ts';
import { openOrm } from '#platform/db/orm.ts';
import { createDatabase } from '#test/support/database.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let orm: MikroORM;
let client: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  orm = await openOrm(readConfig({ DATABASE_URL: database.url }), entities, 60_000);
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await orm.close(true);
  await database.drop();
});

/** Lists every object of the schema with its definition. The table of the migrator is left out. */
const OBJECTS = `
  with relation as (
    select * from pg_class where relnamespace = 'public'::regnamespace and relname not like 'migrations%')
  select format('%s %s %s', relkind, relname, reloptions) as object from relation
  union all select format('column %s.%s %s %s %s %s %s', relname, attname, format_type(atttypid, atttypmod), attnotnull, attstorage,
                          attcollation, pg_get_expr(adbin, adrelid))
    from relation r join pg_attribute a on a.attrelid = r.oid and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
  union all select pg_get_indexdef(oid) from relation where relkind = 'i'
  union all select format('%s: %s %s', coalesce(nullif(conrelid, 0)::regclass::text, contypid::regtype::text), conname, pg_get_constraintdef(oid))
    from pg_constraint where connamespace = 'public'::regnamespace and conrelid <> to_regclass('migrations')
  union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
  union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
  union all select format('domain %s %s %s', typname, format_type(typbasetype, typtypmod), typcollation)
    from pg_type where typnamespace = 'public'::regnamespace and typtype = 'd'
  union all select format('sequence %s %s', sequencename, data_type) from pg_sequences where schemaname = 'public'
    and sequencename not like 'migrations%'
  order by 1`;

const readObjects = async (): Promise<string[]> => (await client.query<{ object: string }>(OBJECTS)).rows.map(({ object }) => object);

test('down of every migration leaves no object, and up creates the same schema again', async () => {
  const before = await readObjects();
  expect(before.length).toBeGreaterThan(500);
  await orm.migrator.down({ to: 0 });
  expect(await readObjects()).toEqual([]);
  await orm.migrator.up();
  expect(await readObjects()).toEqual(before);
});

test('down of each migration restores the schema that its up found', async () => {
  await orm.migrator.down({ to: 0 });
  const found = new Map<string, string[]>();
  for (const { name } of migrations) {
    found.set(name, await readObjects());
    await orm.migrator.up({ to: name });
  }
  for (const { name } of migrations.toReversed()) {
    const reverted = await orm.migrator.down();
    expect(reverted.map((migration) => migration.name)).toEqual([name]);
    expect([name, await readObjects()]).toEqual([name, found.get(name)]);
  }
  await orm.migrator.up();
});

test('a migration whose statement fails changes nothing', async () => {
  await orm.migrator.down({ to: '0022-administration' });
  const before = await readObjects();
  await client.query('create table rounds_opened ()');
  await expect(orm.migrator.up()).rejects.toThrow('already exists');
  await client.query('drop table rounds_opened');
  expect(await readObjects()).toEqual(before);
  await orm.migrator.up();
});

/** Runs src/migrate.ts on the test database. */
const runMigrate = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../../src/migrate.ts'), ...args], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url },
  });
const appliedNames = async () => (await orm.migrator.getExecuted()).map(({ name }) => name);
const names = migrations.map(({ name }) => name);

test('src/migrate.ts can run in several processes at once on an empty database', async () => {
  await orm.migrator.down({ to: 0 });
  await client.query('drop table migrations');
  await Promise.all([runMigrate(), runMigrate()]);
  expect(await appliedNames()).toEqual(names);
});

test('src/migrate.ts --down reverts the newest migration, and refuses to revert another migration', async () => {
  const [newest = '', before = ''] = names.toReversed();
  await expect(runMigrate('--down', before)).rejects.toThrow(`--down must name the newest migration, which is ${newest}, not ${before}`);
  expect(await appliedNames()).toEqual(names);
  await runMigrate('--down', newest);
  expect(await appliedNames()).toEqual(names.slice(0, -1));
});
