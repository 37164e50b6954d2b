import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { entities } from '#areas/registry.ts';
import { readConfig } from '#config';
import { openOrm } from '#platform/db/orm.ts';
import { createDatabase, createEmptyDatabase } from '#test/support/database.ts';

/**
 * Reads everything that describes the tables of a database, as one sorted list of lines. Names of constraints are left out, because MikroORM names
 * foreign keys in its own way; names of indexes and triggers are compared.
 */
async function readSchema(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ line: string }>(`
      with tables as (
        select c.oid, c.relname::text as name from pg_class c
        where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace and c.relname <> 'migrations')
      select concat_ws(' ', 'table', name, 'partition by ' || pg_get_partkeydef(oid)) as line from tables
      union all
      select format('column %s.%s %s%s%s%s', t.name, a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' end,
        case when a.attcollation <> y.typcollation then ' collate ' || a.attcollation::regcollation end,
        case when a.attidentity <> '' then ' identity' else ' default ' || pg_get_expr(d.adbin, d.adrelid) end)
      from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped join pg_type y on y.oid = a.atttypid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      union all
      select format('constraint of %s: %s', t.name, pg_get_constraintdef(c.oid)) from tables t join pg_constraint c on c.conrelid = t.oid
      union all
      select pg_get_indexdef(i.indexrelid) from tables t join pg_index i on i.indrelid = t.oid
      where not exists (select 1 from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u'))
      union all
      select pg_get_triggerdef(g.oid) from tables t join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
      order by 1`);
    return rows.map(({ line }) => line);
  } finally {
    await client.end();
  }
}

/** Returns the SQL that creates the domains, sequences and functions of a database, which entities do not describe. */
async function readFunctions(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ sql: string }>(`
      select format('create domain %s as %s%s %s', t.typname, format_type(t.typbasetype, t.typtypmod),
        case when t.typcollation <> b.typcollation then ' collate ' || t.typcollation::regcollation end,
        (select string_agg(pg_get_constraintdef(c.oid), ' ') from pg_constraint c where c.contypid = t.oid)) as sql
      from pg_type t join pg_type b on b.oid = t.typbasetype where t.typtype = 'd' and t.typnamespace = 'public'::regnamespace
      union all
      select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'`);
    return rows.map(({ sql }) => sql);
  } finally {
    await client.end();
  }
}

let migrated: Awaited<ReturnType<typeof createDatabase>>;
let created: Awaited<ReturnType<typeof createEmptyDatabase>>;

beforeAll(async () => {
  [migrated, created] = await Promise.all([createDatabase(), createEmptyDatabase()]);
});

afterAll(async () => {
  await Promise.all([migrated.drop(), created.drop()]);
});

/** Returns the differences between two schemas. */
const compare = (migrations: readonly string[], fromEntities: readonly string[]) => [
  ...migrations.filter((line) => !fromEntities.includes(line)).map((line) => `only in the migrations: ${line}`),
  ...fromEntities.filter((line) => !migrations.includes(line)).map((line) => `only in the entities: ${line}`),
];

describe('The entities', () => {
  test('describe exactly the tables, columns, constraints, indexes and triggers that the migrations create', async () => {
    const orm = await openOrm(readConfig({ DATABASE_URL: created.url }), entities, 60_000);
    try {
      const client = new pg.Client({ connectionString: created.url });
      await client.connect();
      // Functions may name tables that do not exist yet.
      await client.query('set check_function_bodies = off');
      for (const sql of await readFunctions(migrated.url)) await client.query(sql);
      await client.query(await orm.schema.getCreateSchemaSQL({ wrap: false }));
      await client.end();
    } finally {
      await orm.close(true);
    }
    const [fromMigrations, fromEntities] = await Promise.all([readSchema(migrated.url), readSchema(created.url)]);
    expect(compare(fromMigrations, fromEntities)).toEqual([]);
    expect(fromEntities).toHaveLength(fromMigrations.length);
  });

  test('differ from a database in which a column, a type, a check, an index, a trigger or a table was changed', async () => {
    const before = await readSchema(migrated.url);
    const client = new pg.Client({ connectionString: migrated.url });
    await client.connect();
    await client.query('alter table players rename column ban_reason to reason');
    await client.query('alter table scores alter column points type bigint');
    await client.query('alter table games add check (version > 0)');
    await client.query('drop index plays_wallet');
    await client.query('drop trigger ledger_no_truncate on ledger');
    await client.query('create table forgotten (id int)');
    await client.end();
    const differences = compare(await readSchema(migrated.url), before);
    for (const place of [
      'players.reason',
      'players.ban_reason',
      'scores.points bigint',
      'of games',
      'plays_wallet',
      'ledger_no_truncate',
      'table forgotten',
    ]) {
      expect(differences.filter((line) => line.includes(place))).toHaveLength(1);
    }
  });
});
