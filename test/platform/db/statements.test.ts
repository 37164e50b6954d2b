import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { statement } from '#platform/db/sql.ts';
import { createDatabase } from '#test/support/database.ts';
import { compareRow } from '#test/support/statements/compare.ts';
import { readDeclaredStatements } from '#test/support/statements/declared-rows.ts';
import { openDescriber } from '#test/support/statements/describe.ts';
import { MISTAKES } from '#test/support/statements/fixture.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let describer: Awaited<ReturnType<typeof openDescriber>>;

beforeAll(async () => {
  database = await createDatabase();
  describer = await openDescriber(database.url);
});

afterAll(async () => {
  await describer.close();
  await database.drop();
});

test('The comparison of statements with the database names each kind of mistake and accepts a correct statement', async () => {
  const calls = readDeclaredStatements('test/support/statements');
  const found: Record<string, string[]> = {};
  for (const { name = '', text } of MISTAKES) {
    const call = calls.find((one) => one.name.test(name));
    if (!call) throw new Error(`no call declares ${name}`);
    found[name] = await describer.describe(text).then(
      (returned) => compareRow(call.columns, returned, text, () => false),
      (error: Error) => [error.message],
    );
  }
  expect(found).toEqual({
    misspelt: ['column "walet" does not exist'],
    wrong_type: ['declares wallet as number, but returns text (string)'],
    missing: ['declares mode, but does not return it'],
    undeclared: ['returns mode, but does not declare it'],
    null_forgotten: ['declares that ban_reason is not null, but the column can be null; see never-null.ts'],
    null_invented: ['declares that mode can be null, but the column is not null'],
    integer_as_text: ['declares earned as string, but returns int4 (number)'],
    bigint_as_number: ['declares version as number, but returns int8 (string)'],
    no_row: ['returns wallet, but declares no row'],
    correct: [],
  });
});

test('Two statements with the same name and different texts are refused when they are declared', () => {
  statement('test_same_name', 'select 1');
  expect(() => statement('test_same_name', 'select 2')).toThrow('two statements have the name test_same_name');
});
