import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './mutants.ts';
import { CHECKOUT } from './source.ts';

/**
 * The result of one mutant. `invalid`: PostgreSQL refused the mutated SQL. `uncovered`: no test executes the code. `changed`: the source file was edited
 * during the run.
 */
export type Outcome = 'killed' | 'timed out' | 'survived' | 'uncovered' | 'invalid' | 'changed';

export interface Result extends Pick<Mutant, 'key' | 'path' | 'line' | 'original' | 'replacement' | 'context'> {
  readonly outcome: Outcome;
  /** The test that failed first; empty when none failed. */
  readonly failure: string;
  /** The test files that passed before. */
  readonly passed: readonly string[];
  readonly ms: number;
}

/** The result of a test run without a mutant. A failed control shows how many mutants other causes kill, such as a loaded machine. */
export interface Control {
  readonly control: 'passed' | 'failed';
  /** The test that failed; empty when the control passed. */
  readonly failure: string;
}

/** A reviewed mutant that cannot change what the code does. An entry without `nth` describes all mutants with its line, original and replacement. */
export interface EquivalentMutant extends Pick<Mutant, 'path' | 'context' | 'original' | 'replacement'>, Partial<Pick<Mutant, 'nth'>> {
  readonly reason: string;
}

/** The results of one area and seed, stored as JSON lines, so that an interrupted run can continue. */
export class ResultFile {
  readonly #file: string;
  readonly #results = new Map<string, Result>();
  readonly #controls: Control[] = [];

  /** @param folder a folder that git ignores */
  constructor(folder: string, name: string) {
    mkdirSync(folder, { recursive: true });
    this.#file = join(folder, `${name.replaceAll('/', '-')}.jsonl`);
  }

  /** Reads the stored results. Keeps only those for which `keep` returns true. */
  load(keep: (result: Result) => boolean): void {
    for (const line of readLines(this.#file)) {
      const stored: Result | Control = JSON.parse(line);
      if ('control' in stored) this.#controls.push(stored);
      else if (keep(stored)) this.#results.set(stored.key, stored);
      else this.#results.delete(stored.key);
    }
    writeFileSync(this.#file, [...this.#controls, ...this.#results.values()].map((stored) => `${JSON.stringify(stored)}\n`).join(''));
  }

  get controls(): readonly Control[] {
    return this.#controls;
  }

  get(key: string): Result | undefined {
    return this.#results.get(key);
  }

  add(result: Result): void {
    this.#results.set(result.key, result);
    appendFileSync(this.#file, `${JSON.stringify(result)}\n`);
  }

  addControl(control: Control): void {
    this.#controls.push(control);
    appendFileSync(this.#file, `${JSON.stringify(control)}\n`);
  }
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

export function readEquivalentMutants(): EquivalentMutant[] {
  return JSON.parse(readFileSync(join(CHECKOUT, 'tools/mutate/equivalent.json'), 'utf8'));
}

/** Returns whether a reviewed entry describes a mutant. Line numbers are not compared, because they change often. */
export function describes(entry: EquivalentMutant, mutant: Pick<Mutant, 'path' | 'context' | 'original' | 'replacement' | 'nth'>): boolean {
  return (
    (entry.nth ?? mutant.nth) === mutant.nth &&
    entry.path === mutant.path &&
    entry.context === mutant.context &&
    entry.original === mutant.original &&
    entry.replacement === mutant.replacement
  );
}

/** Returns the lines of the report: the survivors, then the counts, the score and the controls. The score is the share of valid mutants that a test killed. */
export function report(area: string, results: readonly Result[], controls: readonly Control[]): string[] {
  const count = (...outcomes: Outcome[]) => results.filter(({ outcome }) => outcomes.includes(outcome)).length;
  const survivors = results.filter(({ outcome }) => outcome === 'survived' || outcome === 'uncovered');
  const killed = count('killed', 'timed out');
  const score = killed + survivors.length === 0 ? 100 : (100 * killed) / (killed + survivors.length);
  return [
    ...survivors.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1)).map(describeResult),
    `${area}: ${killed} killed (${count('timed out')} by the time limit), ${survivors.length} survived (${count('uncovered')} not covered), ` +
      `${count('invalid')} invalid SQL, ${count('changed')} in files that changed: score ${score.toFixed(1)} %`,
    `${controls.filter(({ control }) => control === 'failed').length} of ${controls.length} controls failed`,
  ];
}

/** Returns one line: outcome, place, the changed code and its replacement. */
export function describeResult({ outcome, path, line, original, replacement, context, failure }: Result): string {
  const change = `${short(original)} → ${short(replacement) || '(removed)'}`;
  return `${outcome.padEnd(9)} ${path}:${line}  ${change}  in: ${short(context)}${failure === '' ? '' : `  by: ${short(failure)}`}`;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 120 ? `${line.slice(0, 117)}…` : line;
}
