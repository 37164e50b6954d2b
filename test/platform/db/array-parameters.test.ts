import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { arrayEncoder } from '#platform/db/array-parameters.ts';
import { type Statement, statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
});
afterAll(() => t.close());

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  bool: [true, false, null],
  int: [0, -1, 2 ** 31 - 1, -(2 ** 31), null],
  int8: [0, -1, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, null],
  float8: [0.1, -1e300, Number.NaN, Number.POSITIVE_INFINITY, 3, null],
  text: ['', 'a"b\\c,{}', 'NULL', 'žluťoučký 🕹', '\ud800', null],
  json: ['{"a":"\\"\\\\"}', '[]', 'null', '"🕹"', null],
  jsonb: ['{"a":"\\"\\\\"}', '[]', 'null', '"🕹"', null],
  uuid: ['01890a5d-ac96-774b-bcce-b302099a8057', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', null],
};

const read = async (query: Statement<{ values: unknown }>, values: readonly unknown[]) => (await t.app.db.query(query, [values]))[0]?.values;

test.each(Object.keys(VALUES))('an array of %s arrives as it does without the encoder', async (type) => {
  const text = `select to_json($1::${type}[]::text[]) as values`;
  const encoded = statement<{ values: unknown }>(`test_array_of_${type}`, text);
  for (const values of [VALUES[type] ?? [], [], [null]]) {
    expect(Buffer.isBuffer(encoded.encode?.([values])[0])).toBe(true);
    expect(await read(encoded, values)).toEqual(await read({ text }, values));
  }
});

test.each([
  ['int', [2 ** 31]],
  ['int', [1.5]],
  ['int8', [2 ** 53]],
  ['int8', ['9223372036854775807']],
  ['text', [1]],
  ['uuid', ['no uuid']],
  ['bool', ['t']],
  ['jsonb', [{ a: 1 }]],
  ['timestamptz', [new Date(0)]],
])('an array of %s with a value that the encoder does not know is left to node-postgres: %j', (type, values) => {
  expect(arrayEncoder(`select $1::${type}[]`)([values])).toEqual([values]);
});

test('a parameter is encoded only if every use casts it to the same array type', () => {
  const values = [['a'], ['b'], ['c'], 'd', null];
  const encoded = arrayEncoder('select $1::text[], $1::text[], $2::text[], $2, $3::text[], $3::uuid[], $4::text, $5::text[]')(values);
  expect(encoded.map((value) => Buffer.isBuffer(value))).toEqual([true, false, false, false, false]);
  expect(encoded.slice(1)).toEqual(values.slice(1));
});
