import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describeExit, settlesWithin } from './child.ts';
import { startPostgres } from './postgres.ts';
import { type ProcessOptions, runProcess, type ServiceProcess, startProcess } from './processes.ts';
import { startRedis } from './redis.ts';
import { type FileCount, NO_RESULT, readFileCounts, replaceCounts, sumCounts } from './results.ts';
import { type Supervisor, supervise } from './supervisor.ts';
import { openTemporaryFolder } from './temporary.ts';

const checkout = join(import.meta.dirname, '../..');

/**
 * Maximum number of failed test files that run a second time, one by one. Tests of real processes sometimes time out on a loaded machine. A file that
 * passes the second time counts as passed and is reported as unsteady.
 */
const MAX_FILES_RERUN = 12;

let count = NO_RESULT;
// This program always prints the number of passed and failed tests as its last line.
process.on('exit', () => process.stdout.write(`\ntests: ${count.passed} passed, ${count.failed} failed\n`));

async function test(stack: Supervisor, jestArguments: readonly string[]): Promise<number> {
  // The tests must never use a database or Redis from the caller's environment.
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...outer } = process.env;
  const command: Omit<ProcessOptions, 'name' | 'command' | 'args'> = { cwd: checkout, env: outer, output: 'inherit', stop: [['SIGINT', 5_000]] };

  // Lint and type check run beside the tests: many tests wait and leave a core idle.
  const checking = runProcess(stack, { ...command, name: 'check', command: 'npm', args: ['run', 'check'] });
  checking.catch(() => undefined);

  const temporary = await openTemporaryFolder('coinop-test-');
  stack.onStop(() => temporary.remove());
  const [postgres, redis] = await Promise.all([
    stack.start(() => startPostgres({ folder: join(temporary.path, 'postgres'), durable: false })),
    stack.start(() => startRedis({ folder: join(temporary.path, 'redis'), durable: false })),
  ]);
  const successes = join(temporary.path, 'successes');
  mkdirSync(successes);
  const env = {
    ...outer,
    NODE_ENV: 'test',
    // Jest's workers, and the processes that tests start, load the same modules hundreds of times. With this cache, Node.js compiles each module only
    // once.
    NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compiled'),
    TEST_DATABASE_URL: postgres.url,
    TEST_REDIS_URL: redis.url,
    TEST_SUCCESSES: successes,
  };
  const jest = (files: readonly string[]) => runJest(stack, { ...command, env }, files, temporary.path);

  const all = await jest(jestArguments);
  count = sumCounts(all.files, all.succeeded);
  const failed = all.files.filter((file) => file.failed > 0);
  if (jestArguments.length === 0 && failed.length > 0 && failed.length <= MAX_FILES_RERUN) {
    print(`Running the failed files again, one by one: ${failed.map((file) => relative(checkout, file.file)).join(', ')}`);
    const again = await jest(['--runInBand', '--runTestsByPath', ...failed.map((file) => file.file)]);
    const isComplete = again.files.length === failed.length;
    count = sumCounts(replaceCounts(all.files, again.files), again.succeeded && isComplete);
    const passedAlone = new Set(again.files.filter((file) => file.failed === 0).map((file) => file.file));
    for (const { file } of failed) if (passedAlone.has(file)) print(`UNSTEADY: ${relative(checkout, file)} failed in the full run and passed alone.`);
  }
  // Checks that each endpoint of the OpenAPI document succeeded in at least one test. If a test failed, the check is skipped, because the failed test
  // may be the only one that covers an endpoint.
  if (jestArguments.length === 0 && count.failed === 0) {
    const args = [join(checkout, 'test/contract/succeeded.ts'), successes];
    const succeeded = await runProcess(stack, { ...command, env, name: 'succeeded', command: process.execPath, args });
    if (succeeded.code !== 0) count = { ...count, failed: 1 };
  }
  const check = await checking;
  if (check.code !== 0) {
    print(`npm run check ${describeExit(check)}; its output is above the results of the tests`);
    count = { ...count, failed: count.failed + 1 };
  }
  return count.failed === 0 ? 0 : 1;
}

/** Runs Jest once and shows its output. @returns the counts per file */
async function runJest(
  stack: Supervisor,
  command: Omit<ProcessOptions, 'name' | 'command' | 'args'>,
  args: readonly string[],
  folder: string,
): Promise<{ files: FileCount[]; succeeded: boolean }> {
  const resultFile = join(folder, `result-${randomUUID()}.json`);
  const jest = await stack.start(() =>
    startProcess({
      ...command,
      endsByItself: true,
      name: 'jest',
      command: process.execPath,
      args: [join(checkout, 'node_modules/jest/bin/jest.js'), ...args, '--json', '--outputFile', resultFile],
    }),
  );
  if (!args.some((argument) => argument.startsWith('--watch'))) await stopHangingJest(jest, resultFile);
  const succeeded = (await jest.exited).code === 0;
  return { files: readFileCounts(resultFile) ?? [], succeeded };
}

/**
 * Stops Jest if it does not exit within 10 s after it has written its result. Jest does not exit if a test left a handle (timer, socket) open. The
 * run then counts as failed.
 */
async function stopHangingJest(jest: ServiceProcess, resultFile: string): Promise<void> {
  while (!existsSync(resultFile)) if (await settlesWithin(jest.exited, 500)) return;
  if (await settlesWithin(jest.exited, 10_000)) return;
  print('Jest does not exit because a test left a handle open. It is stopped now, and the run counts as failed.');
  await jest.stop();
}

const print = (line: string): void => console.error(line);
const interruptedCode = (signal: NodeJS.Signals): number => (signal === 'SIGINT' ? 130 : 143);
const code = await supervise((stack) => test(stack, process.argv.slice(2)), { print, interruptedCode });
if (code !== 0 && count.failed === 0) count = { ...count, failed: 1 };
process.exit(code);
