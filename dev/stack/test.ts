import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describeExit, endsWithin } from './child.ts';
import { startPostgres } from './postgres.ts';
import { type OwnProcess, type ProcessOptions, runProcess, startProcess } from './processes.ts';
import { startRedis } from './redis.ts';
import { type FileCount, NO_RESULT, readFileCounts, replaceCounts, sumUp } from './results.ts';
import { type Supervisor, supervise } from './supervisor.ts';
import { openTemporaryFolder } from './temporary.ts';

const checkout = join(import.meta.dirname, '../..');

/**
 * Tests of real processes on a loaded machine fail now and then for the machine's sake. This few files get a second run,
 * alone; a file that fails again has failed, and one that does not is named.
 */
const RUN_AGAIN = 12;

let count = NO_RESULT;
// However this ends, the count is the last thing it says.
process.on('exit', () => process.stdout.write(`\ntests: ${count.passed} passed, ${count.failed} failed\n`));

async function test(stack: Supervisor, jestArguments: readonly string[]): Promise<number> {
  // A database that somebody works with is never within the tests' reach.
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...outer } = process.env;
  const command: Omit<ProcessOptions, 'name' | 'command' | 'args'> = { cwd: checkout, env: outer, output: 'inherit', stop: [['SIGINT', 5_000]] };

  const check = await runProcess(stack, { ...command, name: 'check', command: 'npm', args: ['run', 'check'] });
  if (check.code !== 0) throw new Error(`npm run check ${describeExit(check)}`);

  const temporary = await openTemporaryFolder('coinop-test-');
  stack.afterwards(() => temporary.remove());
  const [postgres, redis] = await Promise.all([
    stack.start(() => startPostgres({ folder: join(temporary.path, 'postgres'), durable: false })),
    stack.start(() => startRedis({ folder: join(temporary.path, 'redis'), durable: false })),
  ]);
  const successes = join(temporary.path, 'successes');
  mkdirSync(successes);
  const env = {
    ...outer,
    NODE_ENV: 'test',
    // Jest's workers and the processes that tests start load the same modules, hundreds of times.
    NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compiled'),
    TEST_DATABASE_URL: postgres.url,
    TEST_REDIS_URL: redis.url,
    TEST_SUCCESSES: successes,
  };
  const jest = (files: readonly string[]) => runJest(stack, { ...command, env }, files, temporary.path);

  const all = await jest(jestArguments);
  count = sumUp(all.files, all.succeeded);
  const failed = all.files.filter((file) => file.failed > 0);
  if (jestArguments.length === 0 && failed.length > 0 && failed.length <= RUN_AGAIN) {
    say(`Failed beside other tests, so run again alone: ${failed.map((file) => relative(checkout, file.file)).join(', ')}`);
    const again = await jest(['--runInBand', '--runTestsByPath', ...failed.map((file) => file.file)]);
    const named = again.files.length === failed.length;
    count = sumUp(replaceCounts(all.files, again.files), again.succeeded && named);
    const steady = new Set(again.files.filter((file) => file.failed === 0).map((file) => file.file));
    for (const { file } of failed) if (steady.has(file)) say(`UNSTEADY: ${relative(checkout, file)} failed beside others and passed alone.`);
  }
  // Every endpoint that is promised has succeeded in some test. What a test that failed would have had succeed is not told twice.
  if (jestArguments.length === 0 && count.failed === 0) {
    const args = [join(checkout, 'test/contract/succeeded.ts'), successes];
    const succeeded = await runProcess(stack, { ...command, env, name: 'succeeded', command: process.execPath, args });
    if (succeeded.code !== 0) count = { ...count, failed: 1 };
  }
  return count.failed === 0 ? 0 : 1;
}

/** One run of jest, its output shown; what it came to, file by file. */
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
      mayEnd: true,
      name: 'jest',
      command: process.execPath,
      args: [join(checkout, 'node_modules/jest/bin/jest.js'), ...args, '--json', '--outputFile', resultFile],
    }),
  );
  if (!args.some((argument) => argument.startsWith('--watch'))) await endSoonAfter(jest, resultFile);
  const succeeded = (await jest.exited).code === 0;
  return { files: readFileCounts(resultFile) ?? [], succeeded };
}

/** Jest waits for ever for what a test has left open, though its result is complete. That is a failure, not a reason to hang. */
async function endSoonAfter(jest: OwnProcess, resultFile: string): Promise<void> {
  while (!existsSync(resultFile)) if (await endsWithin(jest.exited, 500)) return;
  if (await endsWithin(jest.exited, 10_000)) return;
  say('A test has left something open, so jest does not end: it is stopped, and that counts as a failure.');
  await jest.stop();
}

const say = (line: string): void => console.error(line);
const interruptedCode = (signal: NodeJS.Signals): number => (signal === 'SIGINT' ? 130 : 143);
const code = await supervise((stack) => test(stack, process.argv.slice(2)), { say, interruptedCode });
if (code !== 0 && count.failed === 0) count = { ...count, failed: 1 };
process.exit(code);
