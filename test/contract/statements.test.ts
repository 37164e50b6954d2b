import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { newId } from '#lib/ids.ts';
import { declaredStatements } from '#platform/db/sql.ts';
import { createDatabase } from '#test/support/database.ts';
import { compareRow } from '#test/support/statements/compare.ts';
import { type DeclaredStatement, readDeclaredStatements } from '#test/support/statements/declared-rows.ts';
import { openDescriber } from '#test/support/statements/describe.ts';
import { NEVER_NULL } from '#test/support/statements/never-null.ts';
import { PLAN_ONCE, planOf, usesTables } from '#test/support/statements/plans.ts';

const root = join(import.meta.dirname, '../..');
const FOLDERS = ['src', 'workers'] as const;
const sources = FOLDERS.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
).filter((file) => file.endsWith('.ts'));

/** Modules that start a process when they are imported. */
const PROGRAMS = new Set(['src/server.ts', 'src/migrate.ts', 'workers/main.ts']);

let database: Awaited<ReturnType<typeof createDatabase>>;
let describer: Awaited<ReturnType<typeof openDescriber>>;
let declared: DeclaredStatement[];

beforeAll(async () => {
  for (const file of sources) if (!PROGRAMS.has(file) && !file.endsWith('thread.ts')) await import(join(root, file));
  declared = FOLDERS.flatMap((folder) => readDeclaredStatements(folder));
  database = await createDatabase();
  describer = await openDescriber(database.url);
});

afterAll(async () => {
  await describer.close();
  await database.drop();
});

/** SQL expression: the id of the row `n`. */
const ID = `overlay('${newId()}' placing lpad(n::text, 12, '0') from 25)::uuid`;
/** Inserts the rows of a month in which thousands of wallets played since the last analysis. */
const YOUNG_MONTH = [
  `insert into plays (id, wallet, game_id, started_at) select ${ID}, 'w' || n % 5000, 'g', app_now() from generate_series(1, 40000) n`,
  `insert into scores (id, wallet, game_id, game_version, play_id, body_hash, score, normalized, points, personal_best, status, mode, day, at)
   select ${ID}, 'w' || n % 5000, 'g', 1, ${ID}, '', 1, 1, 0, false, 'accepted', 'regular', app_day(), app_now() from generate_series(1, 40000) n`,
  `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
   select 'w' || n % 5000, 'regular', 'game', 'game', 'score', ${ID}, 1, true, app_day(), app_now(), app_day() from generate_series(1, 40000) n`,
];

/**
 * Statements that may read a partition as a whole: the first one reads scores until the first day is closed, and the others look for one row of a day that
 * has ended and is not closed.
 */
const READ_WHOLE = ['lock_epoch_to_compute', 'select_epoch_closed', 'select_first_day'];

/** The statements that the modules of these folders declare. Test files declare statements too; their names begin with `test_`. */
const statements = () => [...declaredStatements().values()].filter(({ name }) => !name?.startsWith('test_'));

describe('Each named SQL statement', () => {
  test('is declared by exactly one call in the source code', () => {
    const wrong = statements().flatMap(({ name = '' }) => {
      const calls = declared.filter((call) => call.name.test(name));
      return calls.length === 1 ? [] : [`${name}: ${calls.map(({ at }) => at).join(', ') || 'no call found'}`];
    });
    expect(wrong).toEqual([]);
    expect(declared.filter((call) => !statements().some(({ name = '' }) => call.name.test(name))).map(({ at, label }) => `${at} ${label}`)).toEqual(
      [],
    );
  });

  test('compares with the clock in a subquery, because PostgreSQL would otherwise read the clock once per row, and would use no index', () => {
    const bare = statements().filter(({ text }) => /[<>]=?\s*app_(?:now|day)\(\)|app_(?:now|day)\(\)\s*[<>]/.test(text));
    expect(bare.map(({ name }) => name)).toEqual([]);
  });

  test('uses one index of each partition, also while PostgreSQL has no statistics of the rows', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query(`${PLAN_ONCE}; begin`);
      for (const insert of YOUNG_MONTH) await client.query(insert);
      const plans = new Map<string | undefined, string>();
      for (const one of statements().filter(usesTables)) plans.set(one.name, await planOf(client, one));
      const of = (pattern: RegExp) => [...plans].filter(([, plan]) => pattern.test(plan)).map(([name]) => name);
      // A bitmap of two indexes of a partition reads all entries of the second one, for each row that it looks for.
      expect(of(/Bitmap(?:And|Or)\n +-> +Bitmap Index Scan on \w+_\d{4}_\d{2}_/)).toEqual([]);
      expect(of(/Seq Scan on \w+_\d{4}_\d{2}\b/).toSorted()).toEqual(READ_WHOLE);
    } finally {
      await client.end();
    }
  });

  test('can be prepared on a migrated database, and returns the columns of its declared row', async () => {
    const wrong = [];
    const needed = new Set<string>();
    for (const { name = '', text } of statements()) {
      const call = declared.find((one) => one.name.test(name));
      if (!call) continue;
      try {
        const returned = await describer.describe(text);
        const isNeverNull = (column: string) => needed.add(`${name}.${column}`) && `${name}.${column}` in NEVER_NULL;
        wrong.push(...compareRow(call.columns, returned, text, isNeverNull).map((difference) => `${call.at} ${name}: ${difference}`));
      } catch (error) {
        wrong.push(`${call.at} ${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(Object.keys(NEVER_NULL).filter((column) => !needed.has(column))).toEqual([]);
  });

  test('is used by the code, when its module exports it', () => {
    const texts = ['src', 'jobs', 'workers', 'tools'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => readFileSync(join(root, folder, file), 'utf8')),
    );
    const unused = texts.flatMap((text) =>
      [...text.matchAll(/^export const (\w+)[^=\n]* = statement\b/gm)].flatMap(([, name = '']) => {
        const uses = texts.reduce((count, other) => count + [...other.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length, 0);
        const imports = texts.reduce((count, other) => count + [...other.matchAll(new RegExp(`^import [^;]*\\b${name}\\b`, 'gm'))].length, 0);
        return uses - imports > 1 ? [] : [name];
      }),
    );
    expect(unused).toEqual([]);
  });
});
