import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { EXPORTED, NOT_EXPORTED } from '#areas/privacy/exported.ts';
import { createDatabase } from '#test/support/database.ts';
import { createWallet } from '#test/support/wallet.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let client: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  client = new pg.Client(database.url);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Tables with a column of the type `wallet`. */
const withWallet = async () => {
  const { rows } = await client.query<{ name: string }>(
    `select distinct c.relname::text as name from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p') and not c.relispartition
     join pg_type t on t.oid = a.atttypid where t.typname = 'wallet' and c.relnamespace = 'public'::regnamespace order by 1`,
  );
  return rows.map(({ name }) => name);
};

describe('GET /me/export', () => {
  test('contains every table with a wallet, or leaves it out for a reason', async () => {
    const known = new Set([...EXPORTED.map(({ table }) => table), ...Object.keys(NOT_EXPORTED)]);
    expect((await withWallet()).filter((name) => !known.has(name))).toEqual([]);
  });

  test('leaves out only tables that exist and that it does not contain', async () => {
    const tables = new Set(await withWallet());
    expect(Object.keys(NOT_EXPORTED).filter((name) => !tables.has(name) || EXPORTED.some(({ table }) => table === name))).toEqual([]);
  });

  test.each(EXPORTED)(
    'finds the rows of $table without reading the whole table, and leaves out only columns that exist',
    async ({ table, rows, without = [] }) => {
      await client.query('set enable_seqscan = off');
      const { rows: plan } = await client.query<{ 'QUERY PLAN': string }>(
        `explain select to_jsonb(t) from ${rows.replaceAll('$1', `'${createWallet().address}'`)}`,
      );
      const text = plan.map((line) => line['QUERY PLAN']).join('\n');
      // The number of epochs is small: one per day.
      expect(text.replace(/Seq Scan on epochs/g, '')).not.toContain('Seq Scan');
      const columns = await client.query<{ name: string }>('select column_name::text as name from information_schema.columns where table_name = $1', [
        table,
      ]);
      expect(without.filter((column) => !columns.rows.some(({ name }) => name === column))).toEqual([]);
    },
  );
});
