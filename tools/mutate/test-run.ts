import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Child, settlesWithin } from '#dev/stack/child.ts';
import type { Edit } from './source.ts';
import { CHECKOUT } from './source.ts';

const tool = (file: string): string => join(import.meta.dirname, file);

/** Time between two reads of the output of a run, ms. */
const POLL_MS = 250;

/** Time limit of the end of a process after its last test file, ms. */
const EXIT_TIMEOUT_MS = 20_000;

/** Messages of failures that a slow machine can cause too. */
const WAITING = /timeout|timed out|within \d+|ECONN|EPIPE|Connection (terminated|is closed)|deadlock detected/i;

/** A test file, and the time after which a run of it counts as endless. */
export interface LimitedTest {
  /** Path relative to the checkout. */
  readonly file: string;
  readonly timeoutMs: number;
}

/** The way a test run ended. */
export interface TestRun {
  readonly outcome: 'passed' | 'failed' | 'timed out';
  /** The test files that passed, in their order. */
  readonly passed: readonly string[];
  /** The first failed test, or the end of the output when the run failed without a failed test; empty when no test failed. */
  readonly failure: string;
  /** Whether a slow machine could have caused the failure or the timeout. */
  readonly isUncertain: boolean;
  readonly ms: number;
}

interface TestRunOptions {
  /** Test files in the order in which they run. */
  readonly files: readonly LimitedTest[];
  /** Folder for the files of the run. Two runs at the same time need two folders. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** The change of one source file; the path is relative to the checkout. */
  readonly mutant?: Edit & { readonly path: string };
}

/** Runs test files in one process until the first test fails or a file exceeds its time limit. Kills all processes of the run at its end. */
export async function runTests({ files, folder, env, mutant }: TestRunOptions): Promise<TestRun> {
  mkdirSync(folder, { recursive: true });
  const paths = files.map(({ file }) => join(CHECKOUT, file));
  const mutantFile = join(folder, 'mutant.json');
  if (mutant) writeFileSync(mutantFile, JSON.stringify({ ...mutant, url: pathToFileURL(join(CHECKOUT, mutant.path)).href }));
  const outputFile = join(folder, 'output');
  const output = openSync(outputFile, 'w');
  const began = performance.now();
  const jest = ['--runInBand', '--forceExit', '--testSequencer', tool('given-order.js'), '--reporters', tool('first-failure.js'), '--runTestsByPath'];
  const child = new Child({
    command: process.execPath,
    args: [join(CHECKOUT, 'node_modules/jest/bin/jest.js'), ...jest, ...paths],
    cwd: CHECKOUT,
    env: {
      ...process.env,
      ...env,
      NODE_ENV: 'test',
      NODE_COMPILE_CACHE: join(CHECKOUT, 'node_modules/.cache/compiled'),
      TEST_ORDER: JSON.stringify(paths),
      ...(mutant ? { MUTANT: mutantFile, NODE_OPTIONS: `--import=${pathToFileURL(tool('substitute.ts')).href}` } : {}),
    },
    stdio: ['ignore', output, output],
    orphanSignal: 'SIGKILL',
    exitSignal: 'SIGKILL',
  });
  closeSync(output);
  const passedFiles = (): string[] =>
    [...readFileSync(outputFile, 'utf8').matchAll(/^PASSED (.*)$/gm)].map(([, path = '']) => relative(CHECKOUT, path));
  const hasEnded = await endsInTime(child, files, () => passedFiles().length);
  if (!hasEnded) await child.stop([]);
  const { code } = await child.exited;
  const text = readFileSync(outputFile, 'utf8');
  rmSync(mutantFile, { force: true });
  const outcome = !hasEnded ? 'timed out' : code === 0 ? 'passed' : 'failed';
  const failed = /^FAILED (.*?): (.*)\n([\s\S]*)$/m.exec(text);
  const failure = failed ? `${relative(CHECKOUT, failed[1] ?? '')}: ${failed[2]}` : text.slice(-500);
  return {
    outcome,
    passed: passedFiles(),
    failure: outcome === 'failed' ? failure : '',
    isUncertain: outcome === 'timed out' || (outcome === 'failed' && WAITING.test(failed?.[3] ?? text)),
    ms: Math.round(performance.now() - began),
  };
}

/** Waits until the process exits. @returns false when a file exceeds its time limit first */
async function endsInTime(child: Child, files: readonly LimitedTest[], countPassed: () => number): Promise<boolean> {
  let passed = 0;
  let began = performance.now();
  while (!(await settlesWithin(child.exited, POLL_MS))) {
    const now = performance.now();
    const count = countPassed();
    if (count > passed) [passed, began] = [count, now];
    else if (now - began > (files[passed]?.timeoutMs ?? EXIT_TIMEOUT_MS)) return false;
  }
  return true;
}
