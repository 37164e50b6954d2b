import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

test('every point of the document on security names tests, and those are there', () => {
  const points = readFileSync(join(root, 'docs/security.md'), 'utf8').matchAll(/^\| \*\*(API\d+)\*\* .*\|([^|]+)\|$/gm);
  const named = [...points].map(([, point, cell = '']) => ({ point, tests: [...cell.matchAll(/`([\w/-]+)`/g)].map(([, name]) => name) }));
  expect(named.map(({ point }) => point)).toEqual(Array.from({ length: 10 }, (_, i) => `API${i + 1}`));
  expect(named.filter(({ tests }) => tests.length === 0)).toEqual([]);
  const missing = named.flatMap(({ tests }) => tests).filter((name) => !existsSync(join(root, 'test', `${name}.test.ts`)));
  expect(missing).toEqual([]);
});
