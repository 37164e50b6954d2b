import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { settlesWithin } from '#dev/stack/child.ts';
import { type ServiceProcess, startProcess } from '#dev/stack/processes.ts';
import type { Supervisor } from '#dev/stack/supervisor.ts';
import { type FileCount, readFileCounts } from './results.ts';

/** How to run Jest. */
export interface JestOptions {
  readonly checkout: string;
  readonly env: NodeJS.ProcessEnv;
  /** A temporary folder for Jest's result. */
  readonly folder: string;
  /** Options of Jest that select the tests. */
  readonly options: readonly string[];
}

/** The result of Jest. */
export interface JestResult {
  readonly files: FileCount[];
  readonly succeeded: boolean;
}

/** Runs Jest once and shows its output. */
export async function runJest(stack: Supervisor, { checkout, env, folder, options }: JestOptions): Promise<JestResult> {
  const resultFile = join(folder, `result-${randomUUID()}.json`);
  const jest = await stack.start(() =>
    startProcess({
      name: 'jest',
      command: process.execPath,
      args: [join(checkout, 'node_modules/jest/bin/jest.js'), ...options, '--json', '--outputFile', resultFile],
      cwd: checkout,
      env,
      output: 'inherit',
      endsByItself: true,
      stop: [['SIGINT', 5_000]],
    }),
  );
  await stopHangingJest(jest, resultFile);
  const succeeded = (await jest.exited).code === 0;
  return { files: readFileCounts(resultFile) ?? [], succeeded };
}

/**
 * Stops Jest if it does not exit within 10 s after it has written its result. Jest does not exit if a test left a handle (timer, socket) open. The
 * run then counts as failed.
 */
async function stopHangingJest(jest: ServiceProcess, resultFile: string): Promise<void> {
  while (!existsSync(resultFile)) if (await settlesWithin(jest.exited, 100)) return;
  if (await settlesWithin(jest.exited, 10_000)) return;
  console.error('Jest does not exit because a test left a handle open. It is stopped now, and the run counts as failed.');
  await jest.stop();
}
