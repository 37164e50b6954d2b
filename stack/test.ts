import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeExit, endsWithin } from './child.ts';
import { startPostgres } from './postgres.ts';
import { type OwnProcess, type ProcessOptions, runProcess, startProcess } from './processes.ts';
import { startRedis } from './redis.ts';
import { NO_RESULT, readTestCount } from './results.ts';
import { type Supervisor, supervise } from './supervisor.ts';
import { openTemporaryFolder } from './temporary.ts';

const checkout = join(import.meta.dirname, '..');

let count = NO_RESULT;
// However this ends, the count is the last thing it says.
process.on('exit', () => process.stdout.write(`\ntests: ${count.passed} passed, ${count.failed} failed\n`));

async function test(stack: Supervisor, jestArguments: readonly string[]): Promise<number> {
  // A database that somebody works with is never within the tests' reach.
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...env } = process.env;
  const command: Omit<ProcessOptions, 'name' | 'command' | 'args'> = { cwd: checkout, env, output: 'inherit', stop: [['SIGINT', 5_000]] };

  const check = await runProcess(stack, { ...command, name: 'check', command: 'npm', args: ['run', 'check'] });
  if (check.code !== 0) throw new Error(`npm run check ${describeExit(check)}`);

  const temporary = await openTemporaryFolder('coinop-test-');
  stack.afterwards(() => temporary.remove());
  const [postgres, redis] = await Promise.all([
    stack.start(() => startPostgres({ folder: join(temporary.path, 'postgres'), durable: false })),
    stack.start(() => startRedis({ folder: join(temporary.path, 'redis'), durable: false })),
  ]);
  const resultFile = join(temporary.path, 'result.json');
  const options: ProcessOptions = {
    ...command,
    mayEnd: true,
    name: 'jest',
    command: process.execPath,
    args: [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      join(checkout, 'node_modules/jest/bin/jest.js'),
      ...jestArguments,
      '--json',
      '--outputFile',
      resultFile,
    ],
    env: { ...env, NODE_ENV: 'test', TEST_DATABASE_URL: postgres.url, TEST_REDIS_URL: redis.url },
  };
  const jest = await stack.start(() => startProcess(options));
  if (!jestArguments.some((argument) => argument.startsWith('--watch'))) await endSoonAfter(jest, resultFile);
  count = readTestCount(resultFile, (await jest.exited).code === 0);
  return count.failed === 0 ? 0 : 1;
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
