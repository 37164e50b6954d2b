import { readFileSync } from 'node:fs';

/** What a run of the tests came to. */
export interface TestCount {
  readonly passed: number;
  readonly failed: number;
}

/** Nothing is known, so nothing is well. */
export const NO_RESULT: TestCount = { passed: 0, failed: 1 };

/**
 * Reads jest's own JSON result. A suite that could not run counts as a failed test, and so does a run that failed for
 * another reason, or tested nothing.
 */
export function readTestCount(file: string, jestSucceeded: boolean): TestCount {
  let result: unknown;
  try {
    result = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return NO_RESULT;
  }
  const passed = numberIn(result, 'numPassedTests');
  const failed = numberIn(result, 'numFailedTests') + numberIn(result, 'numRuntimeErrorTestSuites');
  const isWell = jestSucceeded && passed > 0;
  return { passed, failed: isWell ? failed : Math.max(failed, 1) };
}

function numberIn(result: unknown, key: string): number {
  if (typeof result !== 'object' || result === null) return 0;
  const value = new Map<string, unknown>(Object.entries(result)).get(key);
  return typeof value === 'number' ? value : 0;
}
