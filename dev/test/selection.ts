import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf, resolveImport } from './imports.ts';

const FOLDERS = '{src,jobs,workers,dev,tools,test,programs,packages,examples}';

/**
 * Returns the test files to run after a change of files: the changed test files, and for each other changed file the tests that import it, directly
 * or through other files. Of these tests it returns those of the file's own area (`test/areas/quests` for `src/areas/quests`), or else those with the
 * fewest imports between the test and the file.
 */
export function testsOf(checkout: string, changed: readonly string[]): string[] {
  const importers = readImporters(checkout);
  const tests = changed.flatMap((file) => {
    if (isTest(file)) return existsSync(join(checkout, file)) ? [file] : [];
    const levels = testLevels(importers, file);
    const folder = testFolderOf(file);
    const own = levels.flat().filter((test) => folder !== undefined && test.startsWith(folder));
    return own.length > 0 ? own : (levels[0] ?? []);
  });
  return [...new Set(tests)].sort();
}

const isTest = (file: string): boolean => file.endsWith('.test.ts');

/** Returns the folder with the tests of a file: `test/areas/quests/` for a file below `src/areas/quests/`. */
function testFolderOf(file: string): string | undefined {
  const [, room] = /^(?:src\/)?((?:areas|platform)\/[^/]+|lib|dev\/[^/]+|tools\/[^/]+|workers|programs|packages)\//.exec(file) ?? [];
  return room && `test/${room}/`;
}

/** Returns the tests that import a file: first the tests with the fewest imports in between. */
function testLevels(importers: ReadonlyMap<string, readonly string[]>, file: string): string[][] {
  const seen = new Set([file]);
  const levels: string[][] = [];
  for (let level = [file]; level.length > 0; ) {
    level = [...new Set(level.flatMap((one) => importers.get(one) ?? []))].filter((one) => !seen.has(one));
    for (const one of level) seen.add(one);
    const tests = level.filter(isTest);
    if (tests.length > 0) levels.push(tests);
  }
  return levels;
}

/** Returns for each file of the checkout the files that import it. */
function readImporters(checkout: string): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const from of globSync(`${FOLDERS}/**/*.ts`, { cwd: checkout, exclude: ['**/{node_modules,dist}/**'] })) {
    for (const { specifier } of importsOf(readFileSync(join(checkout, from), 'utf8'))) {
      const to = resolveImport(from, specifier);
      if (to !== null) importers.set(to, [...(importers.get(to) ?? []), from]);
    }
  }
  return importers;
}
