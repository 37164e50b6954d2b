import { parseArgs } from 'node:util';
import { parseMonth } from '#areas/points/history/index.ts';
import { type Config, readConfig } from '#config';
import { DEFAULT_SCOPE, type Result, runChecks } from './audit.ts';
import type { Check, Scope } from './check.ts';
import { CHECKS } from './checks.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);
const printError = (line: string) => void process.stderr.write(`${line}\n`);

const USAGE = `usage: bin/audit [--only NAME,…] [--skip NAME,…] [--all] [--days N] [--epochs N] [--rounds N] [--sample N] [--month YYYY-MM] [--timeout SEC] [--verbose] [--json]

Checks the invariants of a live system: the database must be consistent with itself, with Redis and with the chain. Read-only.
Exit status: 0 when all invariants hold, 1 when there are differences, 2 when a check could not run.

Reads the configuration of the service: DATABASE_URL, REDIS_URL, REDIS_PREFIX and SOLANA_RPC_URL; MEDIA_* for clip-media; and the caps,
mints, TREASURY_ADDRESS and DRAND_* if the service sets them. It reads no private key.

Each check reads one snapshot of the database, in a transaction of its own, so that vacuuming is delayed for one check at most. Large
tables are compared by sums of weighted rows, and row by row only when the sums differ. Where sums cannot find a difference, a check
compares an eighth of the wallets, a different eighth each day; its description says so.

--only, --skip  names of checks, separated by commas; --list prints all names
--all           compares everything; without it rows of the last --days (${DEFAULT_SCOPE.days}), the newest --epochs (${DEFAULT_SCOPE.epochs}) and --rounds (${DEFAULT_SCOPE.rounds}) are compared,
                and the newest --sample (${DEFAULT_SCOPE.sample}) signatures are looked up; sums always cover all rows
--month         also reads all rows and files of this closed month; --all reads those of every closed month
--timeout       timeout of one SQL statement, seconds (120)
--verbose       prints the name of each check on standard error before it runs
--json          prints one JSON object at the end, and progress on standard error`;

/** The parsed command line. */
interface CommandLine {
  readonly checks: readonly Check[];
  readonly scope: Scope;
  readonly statementMs: number;
  readonly json: boolean;
  readonly verbose: boolean;
}

/**
 * Parses the command line.
 * @throws Error when an option, a number or the name of a check is invalid
 */
function parseCommandLine(): CommandLine | 'help' | 'list' {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const numbers = { days: text, epochs: text, rounds: text, sample: text, timeout: text };
  const { values } = parseArgs({
    options: { only: text, skip: text, month: text, all: flag, json: flag, verbose: flag, help: flag, list: flag, ...numbers },
  });
  if (values.help) return 'help';
  if (values.list) return 'list';
  const named = (names: string | undefined) => {
    const given = names?.split(',') ?? [];
    const unknown = given.find((name) => !CHECKS.some((check) => check.name === name));
    if (unknown !== undefined) throw new Error(`unknown check ${unknown}; --list prints all names`);
    return new Set(given);
  };
  const [only, skip] = [named(values.only), named(values.skip)];
  const number = (name: keyof typeof numbers, fallback: number) => {
    const given = values[name];
    if (given !== undefined && !/^[1-9]\d{0,5}$/.test(given)) throw new Error(`--${name} must be a whole number from 1 to 999999`);
    return given === undefined ? fallback : Number(given);
  };
  const month = values.month === undefined ? undefined : parseMonth(values.month);
  if (month === null) throw new Error('--month must be a year and a month, such as 2026-09');
  const { days, epochs, rounds, sample } = DEFAULT_SCOPE;
  return {
    checks: CHECKS.filter(({ name }) => (only.size === 0 || only.has(name)) && !skip.has(name)),
    scope: {
      days: number('days', days),
      epochs: number('epochs', epochs),
      rounds: number('rounds', rounds),
      sample: number('sample', sample),
      all: values.all ?? false,
      ...(month === undefined ? {} : { month }),
    },
    statementMs: 1_000 * number('timeout', 120),
    json: values.json ?? false,
    verbose: values.verbose ?? false,
  };
}

/** Returns the status of a check in the report: `fine`, `differs`, `warns`, or `unchecked` (the check could not run). */
const statusOf = ({ check, total, failure }: Result) =>
  failure !== null ? 'unchecked' : total === 0 ? 'fine' : check.warnsOnly ? 'warns' : 'differs';

function linesOf(result: Result): string[] {
  const { check, total, listed, failure, ms } = result;
  const head = `${statusOf(result).padEnd(9)} ${check.name.padEnd(18)} ${(ms / 1_000).toFixed(1).padStart(6)} s  ${check.invariant}`;
  if (failure !== null) return [head, `          the check could not run: ${failure}`];
  const rest = total > listed.length ? [`          … and ${total - listed.length} more`] : [];
  return [head, ...listed.map((what) => `          ${what}`), ...rest];
}

const jsonOf = (results: readonly Result[], ms: number) => ({
  ok: exitCode(results) === 0,
  ms,
  checks: results.map((result) => {
    const { check, total, listed, failure } = result;
    return { name: check.name, invariant: check.invariant, status: statusOf(result), ms: result.ms, total, differences: listed, failure };
  }),
});

function exitCode(results: readonly Result[]): number {
  const statuses = results.map(statusOf);
  if (statuses.includes('differs')) return 1;
  return statuses.includes('unchecked') ? 2 : 0;
}

async function main(): Promise<number> {
  let commandLine: ReturnType<typeof parseCommandLine>;
  let config: Config;
  try {
    commandLine = parseCommandLine();
    config = readConfig();
  } catch (error) {
    printError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return 2;
  }
  if (commandLine === 'help') print(USAGE);
  else if (commandLine === 'list') for (const { name, invariant } of CHECKS) print(`${name.padEnd(18)} ${invariant}`);
  if (typeof commandLine === 'string') return 0;

  const { checks, scope, statementMs, json, verbose } = commandLine;
  const report = json ? printError : print;
  const begin = performance.now();
  const onResult = (result: Result) => {
    for (const line of linesOf(result)) report(line);
  };
  const onStart = ({ name }: Check) => {
    if (verbose) printError(`${((performance.now() - begin) / 1_000).toFixed(1).padStart(6)} s  ${name} …`);
  };
  const results = await runChecks(config, checks, { scope, statementMs, onStart, onResult });
  const ms = Math.round(performance.now() - begin);
  if (json) print(JSON.stringify(jsonOf(results, ms)));
  const count = (status: string) => results.filter((result) => statusOf(result) === status).length;
  report(
    `${results.length} checks in ${(ms / 1_000).toFixed(1)} s: ${count('differs')} differ, ${count('warns')} warn, ${count('unchecked')} could not run`,
  );
  return exitCode(results);
}

process.exitCode = await main();
