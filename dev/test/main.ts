import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describeExit } from '#dev/stack/child.ts';
import { runProcess } from '#dev/stack/processes.ts';
import { type Supervisor, supervise } from '#dev/stack/supervisor.ts';
import { openTemporaryFolder } from '#dev/stack/temporary.ts';
import { SourceChanges, uncommittedFiles } from './changes.ts';
import { reportCoverage } from './coverage/report.ts';
import { type JestResult, runJest } from './jest.ts';
import { keepServers, stopKeptServers } from './kept-servers.ts';
import { installLongTestPrograms } from './long-test-programs.ts';
import { memoryFolder } from './memory.ts';
import { HELP, isLong, LONG, parseOptions, type TestOptions, testFiles, UsageError } from './options.ts';
import { NO_RESULT, replaceCounts, sumCounts } from './results.ts';
import { testsOf } from './selection.ts';
import { answerRequests, type Servers, startServers, urlsOf } from './servers.ts';

const checkout = join(import.meta.dirname, '../..');

/**
 * Maximum number of failed test files that run a second time, one by one. Tests of real processes sometimes time out on a loaded machine. A file that
 * passes the second time counts as passed and is reported as unsteady.
 */
const MAX_FILES_RERUN = 24;

/** With `--all`, tests with random disasters and seeds repeat them more often. */
const MORE_REPETITIONS = { CHAOS_ROUNDS: '3', MODEL_SEEDS: '6' };

/** Runs Jest with the servers of this run. The options select the tests. */
type Run = (options: readonly string[]) => Promise<JestResult>;

const print = (line: string): void => console.error(line);

let count = NO_RESULT;

async function main(args: readonly string[]): Promise<number> {
  let options: TestOptions | undefined;
  try {
    options = parseOptions(args, checkout, process.cwd());
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    print(error.message);
  }
  if (options?.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (options?.stop) {
    print((await stopKeptServers(checkout)) ? 'The kept servers have stopped.' : 'No servers are kept.');
    return 0;
  }
  // From here on, this program prints the number of passed and failed tests as its last line, however it ends.
  process.on('exit', () => process.stdout.write(`\ntests: ${count.passed} passed, ${count.failed} failed\n`));
  if (!options) return 2;
  const chosen = options;
  const interruptedCode = (signal: NodeJS.Signals): number => (chosen.watch ? 0 : signal === 'SIGINT' ? 130 : 143);
  const code = await supervise((stack) => test(stack, chosen), { print, interruptedCode });
  if (code !== 0 && count.failed === 0) count = { ...count, failed: 1 };
  return code;
}

async function test(stack: Supervisor, options: TestOptions): Promise<number> {
  // The tests must never use a database or Redis from the caller's environment.
  const { DATABASE_URL: _database, REDIS_URL: _redis, TEST_DATABASE_URL: _testDatabase, TEST_REDIS_URL: _testRedis, ...rest } = process.env;
  const { NODE_COMPILE_CACHE: _cache, ...outer } = rest;
  const isWhole = options.paths.length === 0 && options.name === undefined && !options.watch;
  // In a whole run, lint and type check run beside the tests: many tests wait and leave a core idle.
  const checking = isWhole && !options.quick ? check(stack, outer) : undefined;
  checking?.catch(() => undefined);

  const temporary = await openTemporaryFolder('coinop-test-');
  stack.onStop(() => temporary.remove());
  const successes = join(temporary.path, 'successes');
  mkdirSync(successes);
  // The files that a killed test left are deleted with the folder of the run.
  const files = join(temporary.path, 'tmp');
  mkdirSync(files);
  const coverage = join(temporary.path, 'coverage');
  const env = {
    ...(options.all ? MORE_REPETITIONS : {}),
    ...outer,
    NODE_ENV: 'test',
    TMPDIR: files,
    // Jest's workers, and the processes that tests start, load the same modules hundreds of times. With this cache, Node.js compiles each module only
    // once. Code from the cache has no precise coverage.
    ...(options.coverage ? { NODE_V8_COVERAGE: coverage } : { NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compiled') }),
    TEST_SERVERS: options.keep ? await keepServers(checkout) : await offerServers(stack, temporary.path),
    TEST_SUCCESSES: successes,
  };
  const name = options.name === undefined ? [] : ['--testNamePattern', options.name];
  const run: Run = (selection) => runJest(stack, { checkout, env, folder: temporary.path, options: [...name, ...selection] });

  if (options.watch) return watch(stack, options, run);
  if (options.all && isWhole) installLongTestPrograms(print);
  // The long tests run last, so that a fault that a normal test notices is reported early.
  const results: JestResult[] = [];
  for (const selection of selections(options)) results.push(await runFiles(run, selection, isWhole));
  count = sumCounts(
    results.flatMap(({ files }) => files),
    results.every(({ succeeded }) => succeeded),
  );

  // Checks that each endpoint of the OpenAPI document succeeded in at least one test. If a test failed, the check is skipped, because the failed test
  // may be the only one that covers an endpoint.
  if (isWhole && count.failed === 0) {
    const args = [join(checkout, 'test/contract/succeeded.ts'), successes];
    const succeeded = await runProcess(stack, { name: 'succeeded', command: process.execPath, args, cwd: checkout, env, output: 'inherit' });
    if (succeeded.code !== 0) count = { ...count, failed: 1 };
  }
  if (options.coverage) await reportCoverage(coverage, checkout);
  if (!options.quick) {
    const failure = await (checking ?? check(stack, outer));
    if (failure !== undefined) {
      print(failure);
      count = { ...count, failed: count.failed + 1 };
    }
  }
  return count.failed === 0 ? 0 : 1;
}

/** Runs lint and type check. @returns the failure */
async function check(stack: Supervisor, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const exit = await runProcess(stack, { name: 'check', command: 'npm', args: ['run', '--silent', 'check'], cwd: checkout, env, output: 'inherit' });
  return exit.code === 0 ? undefined : `npm run check ${describeExit(exit)}; its output is above`;
}

/** Starts the servers of this run when a test asks for them. @returns the socket at which tests ask */
async function offerServers(stack: Supervisor, folder: string): Promise<string> {
  const socket = join(folder, 'socket');
  let servers: Promise<Servers> | undefined;
  const server = await answerRequests(socket, {
    servers: async () => {
      servers ??= startServers(stack, folder);
      return urlsOf(await servers);
    },
    stop: () => undefined,
  });
  stack.onStop(() => void server.close());
  return socket;
}

/** Returns the options of Jest for the normal tests and for the long tests. With `--all` both run, otherwise only the chosen files. */
function selections({ paths, all }: TestOptions): string[][] {
  const files = testFiles(checkout, paths, all);
  const [normal, long] = all ? [files.filter((file) => !isLong(file)), files.filter(isLong)] : [files, []];
  // Jest prints the paths, so a run of all files selects them by a pattern.
  const byPath = (some: readonly string[]) => ['--runTestsByPath', ...some];
  if (paths.length > 0) return [normal, long].filter((some) => some.length > 0).map(byPath);
  const pattern = LONG.source;
  return [['--testPathIgnorePatterns', pattern], ...(long.length > 0 ? [['--testPathPatterns', pattern]] : [])];
}

/** Runs tests. In a whole run, files with failed tests run a second time. */
async function runFiles(run: Run, selection: readonly string[], isWhole: boolean): Promise<JestResult> {
  const all = await run(selection);
  const failed = all.files.filter((file) => file.failed > 0);
  if (!isWhole || failed.length === 0 || failed.length > MAX_FILES_RERUN) return all;
  print(`Running the failed files again, one by one: ${failed.map((file) => relative(checkout, file.file)).join(', ')}`);
  const again = await run(['--runInBand', '--runTestsByPath', ...failed.map((file) => file.file)]);
  const passedAlone = new Set(again.files.filter((file) => file.failed === 0).map((file) => file.file));
  for (const { file } of failed) if (passedAlone.has(file)) print(`UNSTEADY: ${relative(checkout, file)} failed in the full run and passed alone.`);
  const isComplete = again.files.length === failed.length;
  return { files: replaceCounts(all.files, again.files), succeeded: again.succeeded && isComplete };
}

/** Runs tests after each change until it is interrupted. */
async function watch(stack: Supervisor, options: TestOptions, run: Run): Promise<number> {
  const changes = new SourceChanges(checkout);
  stack.onStop(() => changes.close());
  const select = (changed: readonly string[]) => (options.paths.length > 0 ? testFiles(checkout, options.paths, false) : testsOf(checkout, changed));
  for (let files = select(uncommittedFiles(checkout)); !stack.isEnding; files = select(await changes.next())) {
    if (files.length > 0) {
      const result = await run(['--runTestsByPath', ...files]);
      count = sumCounts(result.files, result.succeeded);
      print(`\n${count.passed} passed, ${count.failed} failed.`);
    }
    print('Waiting for changes. Press Ctrl-C to end.');
  }
  return 0;
}

const memory = memoryFolder();
if (process.env.TMPDIR === undefined && memory !== undefined) process.env.TMPDIR = memory;
process.exit(await main(process.argv.slice(2)));
