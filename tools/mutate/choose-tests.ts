import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MeasuredTest } from './measure-tests.ts';
import type { Mutant } from './mutants.ts';
import type { Result } from './results.ts';
import { CHECKOUT } from './source.ts';

interface ChooseOptions {
  readonly tests: readonly MeasuredTest[];
  /** The files that can name a constant of the mutant, relative to the checkout. */
  readonly sources: readonly string[];
  readonly history: KillHistory;
  /** Maximum total duration of the chosen files, ms, as measured without a mutant. At least one file is chosen. */
  readonly maxTotalMs: number;
}

/**
 * Returns the test files that execute the code of a mutant; first those that kill most mutants per second. A constant of a module is set when the
 * module is loaded, so its code counts as executed where a function that names the constant runs. If no function names it, each test file that loads
 * the module is chosen.
 */
export function chooseTests(mutant: Mutant, { tests, sources, history, maxTotalMs }: ChooseOptions): MeasuredTest[] {
  const { path, start, owner } = mutant;
  const executing = tests.filter(({ coverage }) => coverage.hasExecuted(path, start));
  const uses = owner === null ? [] : findUses(owner, sources);
  const using = executing.filter(({ coverage }) => uses.some((use) => coverage.hasCalled(use.path, use.offset)));
  const chosen = using.length > 0 ? using : executing;
  const value = ({ file, ms }: MeasuredTest): number => history.chance(file, path) / ms;
  let totalMs = 0;
  return chosen
    .toSorted((a, b) => value(b) - value(a))
    .filter(({ ms }, i) => {
      totalMs += ms;
      return i === 0 || totalMs <= maxTotalMs;
    });
}

/** Counts how often each test file killed mutants, in total and by source file. */
export class KillHistory {
  readonly #counts = new Map<string, { kills: number; runs: number }>();

  /** Adds one run. Its failure begins with the path of the test file that failed. */
  add({ path, passed, failure }: Pick<Result, 'path' | 'passed' | 'failure'>): void {
    for (const file of passed) this.#count(file, path, false);
    const killer = failure.split(': ')[0] ?? '';
    if (killer.endsWith('.test.ts')) this.#count(killer, path, true);
  }

  /** Returns the estimated share of the mutants of a source file that a test file kills. Few runs count less than the share of all source files. */
  chance(file: string, path: string): number {
    const total = this.#of(file);
    const own = this.#of(`${file} ${path}`);
    return (own.kills + (total.kills + 0.5) / (total.runs + 2)) / (own.runs + 1);
  }

  #of(key: string): { kills: number; runs: number } {
    return this.#counts.get(key) ?? { kills: 0, runs: 0 };
  }

  #count(file: string, path: string, isKill: boolean): void {
    for (const key of [file, `${file} ${path}`]) {
      const { kills, runs } = this.#of(key);
      this.#counts.set(key, { kills: kills + (isKill ? 1 : 0), runs: runs + 1 });
    }
  }
}

/** Returns the places of a name in source files. */
function findUses(name: string, sources: readonly string[]): { path: string; offset: number }[] {
  const pattern = new RegExp(`(?<![\\w$])${RegExp.escape(name)}(?![\\w$])`, 'g');
  return sources.flatMap((path) => {
    const text = readFileSync(join(CHECKOUT, path), 'utf8');
    return [...text.matchAll(pattern)].map(({ index }) => ({ path, offset: index }));
  });
}
