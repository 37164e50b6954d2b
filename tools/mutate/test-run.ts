import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Child, settlesWithin } from '#dev/stack/child.ts';
import type { Edit } from './source.ts';
import { CHECKOUT } from './source.ts';

const tool = (file: string): string => join(import.meta.dirname, file);

/** The way a test run ended. */
export interface TestRun {
  readonly outcome: 'passed' | 'failed' | 'timed out';
  /** The first failed test, or the end of the output when the run failed without a failed test; empty when the tests passed. */
  readonly failure: string;
  readonly ms: number;
}

interface TestRunOptions {
  /** Test files in the order in which they run, relative to the checkout. */
  readonly files: readonly string[];
  /** Folder for the files of the run. Two runs at the same time need two folders. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The change of one source file; the path is relative to the checkout. */
  readonly mutant?: Edit & { readonly path: string };
}

/** Runs test files in one process until the first test fails. Kills all processes of the run at its end. */
export async function runTests({ files, folder, env, timeoutMs, mutant }: TestRunOptions): Promise<TestRun> {
  mkdirSync(folder, { recursive: true });
  const paths = files.map((file) => join(CHECKOUT, file));
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
  const hasEnded = await settlesWithin(child.exited, timeoutMs);
  if (!hasEnded) await child.stop([]);
  const { code } = await child.exited;
  const text = readFileSync(outputFile, 'utf8');
  rmSync(mutantFile, { force: true });
  const outcome = !hasEnded ? 'timed out' : code === 0 ? 'passed' : 'failed';
  const failed = /^FAILED (.*?): (.*)$/m.exec(text);
  const failure = failed ? `${relative(CHECKOUT, failed[1] ?? '')}: ${failed[2]}` : text.slice(-500);
  return { outcome, failure: outcome === 'failed' ? failure : '', ms: Math.round(performance.now() - began) };
}
