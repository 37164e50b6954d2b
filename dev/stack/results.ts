import { readFileSync } from 'node:fs';

/** What a run of the tests came to. */
export interface TestCount {
  readonly passed: number;
  readonly failed: number;
}

/** One test file's part of a run. */
export interface FileCount extends TestCount {
  readonly file: string;
}

/** Nothing is known, so nothing is well. */
export const NO_RESULT: TestCount = { passed: 0, failed: 1 };

/**
 * Reads jest's own JSON result, file by file. A file that could not run counts as a failed test.
 * @returns null when there is no complete result
 */
export function readFileCounts(resultFile: string): FileCount[] | null {
  let result: unknown;
  try {
    result = JSON.parse(readFileSync(resultFile, 'utf8'));
  } catch {
    return null;
  }
  return listIn(result, 'testResults').map((file) => {
    const outcomes = listIn(file, 'assertionResults').map((test) => at(test, 'status'));
    const failed = outcomes.filter((status) => status === 'failed').length;
    return {
      file: String(at(file, 'name')),
      passed: outcomes.filter((status) => status === 'passed').length,
      failed: at(file, 'status') === 'failed' ? Math.max(failed, 1) : failed,
    };
  });
}

/** Adds up files. A run that failed for another reason than its tests, or tested nothing, is a failure too. */
export function sumUp(files: readonly FileCount[], jestSucceeded: boolean): TestCount {
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  const failed = files.reduce((sum, file) => sum + file.failed, 0);
  return { passed, failed: jestSucceeded && passed > 0 ? failed : Math.max(failed, 1) };
}

/** The counts of a run after some of its files were run again: the second time is what counts for these. */
export function replaceCounts(first: readonly FileCount[], again: readonly FileCount[]): FileCount[] {
  const second = new Map(again.map((file) => [file.file, file]));
  return first.map((file) => second.get(file.file) ?? file);
}

function at(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? new Map<string, unknown>(Object.entries(value)).get(key) : undefined;
}

function listIn(value: unknown, key: string): unknown[] {
  const list = at(value, key);
  return Array.isArray(list) ? list : [];
}
