import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Coverage } from './coverage.ts';
import type { Mutant } from './mutants.ts';
import { CHECKOUT } from './source.ts';

/** A test file that passes without a mutant. */
export interface MeasuredTest {
  readonly file: string;
  readonly ms: number;
  readonly coverage: Coverage;
}

/** Maximum total duration of the test files that run for one mutant, ms, as measured without a mutant. At least one file runs. */
const MAX_TOTAL_MS = 30_000;

/**
 * Returns the test files that execute the code of a mutant, quickest first. A constant of a module is set when the module is loaded, so its code counts
 * as executed where a function that names the constant runs. If no function names it, each test file that loads the module is chosen.
 * @param sources the files that can name the constant, relative to the checkout
 */
export function chooseTests(mutant: Mutant, tests: readonly MeasuredTest[], sources: readonly string[]): MeasuredTest[] {
  const { path, start, owner } = mutant;
  const executing = tests.filter(({ coverage }) => coverage.hasExecuted(path, start));
  const uses = owner === null ? [] : findUses(owner, sources);
  const using = executing.filter(({ coverage }) => uses.some((use) => coverage.hasCalled(use.path, use.offset)));
  const chosen = using.length > 0 ? using : executing;
  let totalMs = 0;
  return chosen
    .toSorted((a, b) => a.ms - b.ms)
    .filter(({ ms }, i) => {
      totalMs += ms;
      return i === 0 || totalMs <= MAX_TOTAL_MS;
    });
}

/** Returns the places of a name in source files. */
function findUses(name: string, sources: readonly string[]): { path: string; offset: number }[] {
  const pattern = new RegExp(`(?<![\\w$])${RegExp.escape(name)}(?![\\w$])`, 'g');
  return sources.flatMap((path) => {
    const text = readFileSync(join(CHECKOUT, path), 'utf8');
    return [...text.matchAll(pattern)].map(({ index }) => ({ path, offset: index }));
  });
}
