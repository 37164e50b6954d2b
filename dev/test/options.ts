import { existsSync, globSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const HELP = `bin/test [OPTIONS] [PATH…]   runs the tests below the paths, or all tests except the long ones

With a PATH, the result of the tests comes first, then lint and type check run. Without a PATH, lint and type check run beside the tests.
PostgreSQL and Redis start when the first test needs them. The last line is always: tests: N passed, N failed
TEST_REDIS=cluster and TEST_REDIS=sentinel run the tests with a Redis Cluster, or with Sentinels, instead of one server.
Four files that cut the connections to one server then fail and say so.

  --quick        runs no lint and no type check
  --name TEXT    runs only the tests whose full name matches this regular expression
  --keep         uses PostgreSQL and Redis of an earlier run with --keep, or starts them; they run until no test has used them for 30 minutes
  --stop         stops the servers that --keep started
  --watch        runs the tests below the paths again after each change; without a PATH, the tests of the files that changed
  --coverage     prints the covered lines and branches per area, and writes a report to coverage/index.html
  --all          runs the long tests (*.long.test.ts) after the other tests
  --help         prints this text

Exit code: 0 if all tests passed, 1 if a test or a check failed, 2 if an argument is wrong.
`;

/** The arguments of `bin/test`. */
export interface TestOptions {
  /** Files and folders below `test/`, relative to the checkout; empty: all tests. */
  readonly paths: readonly string[];
  readonly quick: boolean;
  readonly keep: boolean;
  readonly stop: boolean;
  readonly watch: boolean;
  readonly coverage: boolean;
  readonly all: boolean;
  readonly help: boolean;
  /** Regular expression for the full names of the tests to run. */
  readonly name: string | undefined;
}

/** An argument is wrong. The message is one sentence for the user. */
export class UsageError extends Error {}

const flag = { type: 'boolean', default: false } as const;
const OPTIONS = {
  ...{ quick: flag, keep: flag, stop: flag, watch: flag, coverage: flag, all: flag, help: flag },
  name: { type: 'string' },
} as const;

/** Options that exclude each other. */
const EXCLUSIVE = [
  ['watch', 'coverage'],
  ['watch', 'all'],
] as const;

/**
 * Parses the arguments of `bin/test`.
 * @param cwd the folder that relative paths start from
 * @throws UsageError
 */
export function parseOptions(args: readonly string[], checkout: string, cwd: string): TestOptions {
  const { values, positionals } = parse(args);
  for (const [a, b] of EXCLUSIVE) if (values[a] && values[b]) throw new UsageError(`--${a} and --${b} exclude each other.`);
  if (values.stop && args.length > 1) throw new UsageError('--stop takes no other argument.');
  return { ...values, name: values.name, paths: positionals.map((path) => testPath(path, checkout, cwd)) };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // The first sentence of Node's message names the wrong option.
    const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split(/(?<=')\. |\n/);
    throw new UsageError(`${sentence.replace(/\.$/, '')}; bin/test --help lists the options.`);
  }
}

/** Returns a path relative to the checkout. @throws UsageError when it does not lead to a test */
function testPath(path: string, checkout: string, cwd: string): string {
  const absolute = [resolve(cwd, path), resolve(checkout, path)].find((candidate) => existsSync(candidate));
  if (absolute === undefined) throw new UsageError(`There is no file or folder ${path}.`);
  const found = relative(checkout, absolute);
  if (testFiles(checkout, [found], true).length === 0) throw new UsageError(`There is no test below ${path}; tests are the files test/**/*.test.ts.`);
  return found;
}

/** Matches the paths of test files that only `--all`, or their own path, runs. */
export const LONG = /\.long\.test\.ts$/;

/** Returns whether only `--all`, or the path of the file, runs the tests of this file. */
export const isLong = (file: string): boolean => LONG.test(file);

/**
 * Returns the test files to run, relative to the checkout and sorted. A long test file is among them if `paths` names the file, or if `withLong` is
 * set.
 * @param paths files and folders; empty: all
 */
export function testFiles(checkout: string, paths: readonly string[], withLong: boolean): string[] {
  const all = globSync('test/**/*.test.ts', { cwd: checkout });
  const isBelow = (file: string, path: string) => path === '' || file === path || file.startsWith(`${path}/`);
  return all
    .filter((file) => paths.length === 0 || paths.some((path) => isBelow(file, path)))
    .filter((file) => withLong || !isLong(file) || paths.includes(file))
    .sort();
}
