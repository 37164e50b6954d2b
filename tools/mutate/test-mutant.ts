import { availableParallelism, loadavg } from 'node:os';
import type { MeasuredTest } from './measure-tests.ts';
import type { Mutant } from './mutants.ts';
import type { Control, Outcome, Result } from './results.ts';
import type { Servers } from './servers.ts';
import { readSource } from './source.ts';
import { runTests, type TestRun } from './test-run.ts';

/**
 * Runs tests against a mutant. A failure or timeout that a slow machine can cause too counts only if a second run with doubled time limits fails too.
 * @param code the text of the source file when the mutants were chosen
 */
export async function testMutant(
  mutant: Mutant,
  code: string,
  tests: readonly MeasuredTest[],
  servers: Servers,
): Promise<Pick<Result, 'outcome' | 'failure' | 'passed' | 'ms'>> {
  if (tests.length === 0) return { outcome: 'uncovered', failure: '', passed: [], ms: 0 };
  servers.reportedInvalidSql();
  const { run, passed, ms } = await runTwice(mutant, tests, servers);
  const isInvalid = run.outcome !== 'passed' && servers.reportedInvalidSql();
  await servers.clean();
  // A process that ends without a failed test can have another cause than the mutant, for example a missing package.
  if (run.outcome === 'failed' && !hasFailedTest(run.failure)) await expectToPass(mutant, tests.slice(0, 1), servers);
  const outcome: Outcome =
    readSource(mutant.path).code !== code
      ? 'changed'
      : run.outcome === 'passed'
        ? 'survived'
        : isInvalid
          ? 'invalid'
          : run.outcome === 'failed'
            ? 'killed'
            : 'timed out';
  return { outcome, failure: run.failure, passed, ms };
}

const hasFailedTest = (failure: string): boolean => /^test\/.*\.test\.ts: /.test(failure);

/** @throws Error when tests fail without the mutant */
async function expectToPass(mutant: Mutant, tests: readonly MeasuredTest[], servers: Servers): Promise<void> {
  const { control, failure } = await runUnchanged(mutant, tests, servers);
  if (control === 'failed') throw new Error(`the tests cannot run, with or without a mutant: ${failure}`);
}

/** Runs the tests that killed a mutant without the mutant, in the same way. */
export async function runControl(killed: Result & Mutant, tests: readonly MeasuredTest[], servers: Servers): Promise<Control> {
  const killer = killed.failure.split(': ')[0];
  const own = tests.filter(({ file }) => killed.passed.includes(file) || file === killer);
  return await runUnchanged(killed, own, servers);
}

async function runUnchanged(mutant: Mutant, tests: readonly MeasuredTest[], servers: Servers): Promise<Control> {
  const { run } = await runTwice({ ...mutant, replacement: mutant.original }, tests, servers);
  await servers.clean();
  return { control: run.outcome === 'passed' ? 'passed' : 'failed', failure: run.failure };
}

/** Runs tests, and runs those that did not pass a second time when the failure is uncertain. The time limits grow with the load of the machine. */
async function runTwice(
  mutant: Mutant,
  tests: readonly MeasuredTest[],
  { folder, env, clean }: Servers,
): Promise<{ run: TestRun; passed: string[]; ms: number }> {
  const slowdown = Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
  const runWith = (chosen: readonly MeasuredTest[], factor: number): Promise<TestRun> =>
    runTests({
      files: chosen.map(({ file, ms }) => ({ file, timeoutMs: factor * slowdown * (10_000 + 4 * ms) })),
      folder: `${folder}/run`,
      env,
      mutant,
    });
  const first = await runWith(tests, 1);
  if (!first.isUncertain) return { run: first, passed: [...first.passed], ms: first.ms };
  await clean();
  const rest = tests.filter(({ file }) => !first.passed.includes(file));
  const second = await runWith(rest, 2);
  return { run: second, passed: [...first.passed, ...second.passed], ms: first.ms + second.ms };
}
