import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { declaredStatements } from '#platform/db/sql.ts';
import { createDatabase } from '#test/support/database.ts';
import { compareRow } from '#test/support/statements/compare.ts';
import { type DeclaredStatement, readDeclaredStatements } from '#test/support/statements/declared-rows.ts';
import { openDescriber } from '#test/support/statements/describe.ts';
import { NEVER_NULL } from '#test/support/statements/never-null.ts';

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
