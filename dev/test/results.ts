import { readFileSync } from 'node:fs';

/** Number of passed and failed tests of a run. */
export interface TestCount {
  readonly passed: number;
  readonly failed: number;
}

/** Number of passed and failed tests of one file. */
export interface FileCount extends TestCount {
  readonly file: string;
}

/** The count until a run has a result: one failure, so that a run that ends without a result counts as failed. */
export const NO_RESULT: TestCount = { passed: 0, failed: 1 };

/**
 * Reads Jest's JSON result. A file that could not run counts as one failed test.
 * @returns null when the result is missing or incomplete
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

/** Adds up the counts of the test files. If no test passed, or if Jest reports a failure, the returned count contains at least one failure. */
export function sumCounts(files: readonly FileCount[], jestSucceeded: boolean): TestCount {
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  const failed = files.reduce((sum, file) => sum + file.failed, 0);
  return { passed, failed: jestSucceeded && passed > 0 ? failed : Math.max(failed, 1) };
}

/** Returns one count per file of the first run. For a file that ran again in the second run (`again`), returns the count of the second run. */
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
