import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { isLong, testFiles } from '#dev/test/options.ts';
import { testsOf } from '#dev/test/selection.ts';

const root = join(import.meta.dirname, '../../..');

test('after a change of a source file, the tests of its own area that import it run', () => {
  const tests = testsOf(root, ['src/lib/merkle.ts']);
  expect(tests).toContain('test/lib/merkle.test.ts');
  expect(tests.filter((file) => !file.startsWith('test/lib/'))).toEqual([]);
  expect(testsOf(root, ['src/areas/quests/index.ts']).every((file) => file.startsWith('test/areas/quests/'))).toBe(true);
});

test('after a change of a test file, this file runs', () => {
  expect(testsOf(root, ['test/lib/merkle.test.ts'])).toEqual(['test/lib/merkle.test.ts']);
});

test('after a change of a file that only tools import, the nearest tests run; a document has no tests', () => {
  expect(testsOf(root, ['tools/verify/round-options.ts']).length).toBeGreaterThan(0);
  expect(testsOf(root, ['README.md'])).toEqual([]);
});

test('every test file is a normal one or a long one, and a run with --all has both', () => {
  const all = testFiles(root, [], true);
  const normal = testFiles(root, [], false);
  expect(normal.some(isLong)).toBe(false);
  expect([...normal, ...all.filter(isLong)].sort()).toEqual(all);
  expect(all.filter(isLong).length).toBeGreaterThan(0);
});
