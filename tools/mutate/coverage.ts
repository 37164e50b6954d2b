import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CHECKOUT } from './source.ts';

/** A range of a source file, in offsets, and how often a process executed it. Ranges are nested; the innermost range counts. */
interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly isBlockCoverage: boolean; readonly ranges: readonly Range[] }[];
}

export type StoredCoverage = [url: string, ranges: (readonly Range[])[]][];

/** The code that one test file executes. */
export class Coverage {
  /** By URL of a source file: the ranges of each process that loaded the file. The first range of each process is the whole file. */
  readonly #scripts: Map<string, (readonly Range[])[]>;

  /** @param stored the result of an earlier `toJSON` */
  constructor(stored: StoredCoverage = []) {
    this.#scripts = new Map(stored);
  }

  toJSON(): StoredCoverage {
    return [...this.#scripts];
  }

  /** Adds what one process executed. */
  add(scripts: readonly ScriptCoverage[]): void {
    for (const { url, functions } of scripts) {
      const ranges = functions.flatMap((one) => one.ranges);
      const known = this.#scripts.get(url);
      if (known) known.push(ranges);
      else this.#scripts.set(url, [ranges]);
    }
  }

  /** Returns whether a process executed the code at an offset. Code outside of functions is executed when the file is loaded. */
  hasExecuted(path: string, offset: number): boolean {
    return this.#innermost(path, offset).some(({ range }) => range.count > 0);
  }

  /** Returns whether a process executed the code at an offset, and the code is inside a function. */
  hasCalled(path: string, offset: number): boolean {
    return this.#innermost(path, offset).some(({ range, isInFunction }) => isInFunction && range.count > 0);
  }

  #innermost(path: string, offset: number): { range: Range; isInFunction: boolean }[] {
    return (this.#scripts.get(urlOf(path)) ?? []).flatMap((ranges) => {
      const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
      const range = around.toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset))[0];
      return range ? [{ range, isInFunction: around.length > 1 }] : [];
    });
  }
}

const urlOf = (path: string): string => pathToFileURL(join(CHECKOUT, path)).href;

/**
 * Reads the files that Node.js wrote into the folder NODE_V8_COVERAGE, and deletes the folder.
 * @param sources the source files whose coverage is kept, relative to the checkout
 */
export function readCoverage(folder: string, sources: readonly string[]): Coverage {
  const coverage = new Coverage();
  const urls = new Set(sources.map(urlOf));
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(folder)) {
    const { result }: { result: ScriptCoverage[] } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    coverage.add(result.filter(({ url }) => urls.has(url)));
  }
  rmSync(folder, { recursive: true, force: true });
  return coverage;
}
