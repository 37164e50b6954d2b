import { parseArgs } from 'node:util';
import { type Config, readConfig } from '#config';
import { DEFAULT_SCOPE, type Result, runChecks } from './audit.ts';
import type { Check, Scope } from './check.ts';
import { CHECKS } from './checks.ts';

const say = (line: string) => void process.stdout.write(`${line}\n`);
const complain = (line: string) => void process.stderr.write(`${line}\n`);

const USAGE = `usage: bin/audit [--only NAME,…] [--skip NAME,…] [--all] [--days N] [--epochs N] [--rounds N] [--sample N] [--timeout SEC] [--verbose] [--json]

Proves on a live system what must always hold: that the record agrees with itself, with Redis, and with the chain. Writes nothing.
Ends with 0 where everything holds, 1 where something differs, 2 where something could not be checked.

Takes the service's own configuration: DATABASE_URL, REDIS_URL, REDIS_PREFIX and SOLANA_RPC_URL; MEDIA_* for clip-media; and, where they
are set for the service, its caps, mints, TREASURY_ADDRESS and DRAND_*. No key is read.

Each check reads the record as of one moment, in a transaction of its own: the database cleans up after each. Large tables are compared by
sums of weighted rows, and row by row only where these differ. Where sums cannot tell, an eighth of the wallets is compared, another each
day; a check that does so says it.

--only, --skip  names of checks, with commas; --list shows them
--all           everything there ever was; else rows of the last --days (${DEFAULT_SCOPE.days}), the newest --epochs (${DEFAULT_SCOPE.epochs}) and --rounds (${DEFAULT_SCOPE.rounds}) are computed again,
                and the newest --sample (${DEFAULT_SCOPE.sample}) signatures are looked up; sums are always those of everything
--timeout       the longest that one statement may take (120)
--verbose       names each check on standard error before it is made
--json          one object at the end, and progress on standard error`;

/** What was asked for. */
interface Asked {
  readonly checks: readonly Check[];
  readonly scope: Scope;
  readonly statementMs: number;
  readonly json: boolean;
  readonly verbose: boolean;
}

/** @throws for what cannot be asked */
function ask(): Asked | 'help' | 'list' {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const numbers = { days: text, epochs: text, rounds: text, sample: text, timeout: text };
  const { values } = parseArgs({ options: { only: text, skip: text, all: flag, json: flag, verbose: flag, help: flag, list: flag, ...numbers } });
  if (values.help) return 'help';
  if (values.list) return 'list';
  const named = (names: string | undefined) => {
    const asked = names?.split(',') ?? [];
    const unknown = asked.find((name) => !CHECKS.some((check) => check.name === name));
    if (unknown !== undefined) throw new Error(`there is no check ${unknown}`);
    return new Set(asked);
  };
  const [only, skip] = [named(values.only), named(values.skip)];
  const number = (name: keyof typeof numbers, fallback: number) => {
    const given = values[name];
    if (given !== undefined && !/^[1-9]\d{0,5}$/.test(given)) throw new Error(`--${name} must be a number from 1 to 999999`);
    return given === undefined ? fallback : Number(given);
  };
  const { days, epochs, rounds, sample } = DEFAULT_SCOPE;
  return {
    checks: CHECKS.filter(({ name }) => (only.size === 0 || only.has(name)) && !skip.has(name)),
    scope: {
      days: number('days', days),
      epochs: number('epochs', epochs),
      rounds: number('rounds', rounds),
      sample: number('sample', sample),
      all: values.all ?? false,
    },
    statementMs: 1_000 * number('timeout', 120),
    json: values.json ?? false,
    verbose: values.verbose ?? false,
  };
}

/** `fine`, `differs`, `warns`, or `unchecked`. */
const statusOf = ({ check, total, failure }: Result) => (failure !== null ? 'unchecked' : total === 0 ? 'fine' : check.warns ? 'warns' : 'differs');

function linesOf(result: Result): string[] {
  const { check, total, listed, failure, ms } = result;
  const head = `${statusOf(result).padEnd(9)} ${check.name.padEnd(18)} ${(ms / 1_000).toFixed(1).padStart(6)} s  ${check.invariant}`;
  if (failure !== null) return [head, `          could not be checked: ${failure}`];
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
  let asked: ReturnType<typeof ask>;
  let config: Config;
  try {
    asked = ask();
    config = readConfig();
  } catch (error) {
    complain(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return 2;
  }
  if (asked === 'help') say(USAGE);
  else if (asked === 'list') for (const { name, invariant } of CHECKS) say(`${name.padEnd(18)} ${invariant}`);
  if (typeof asked === 'string') return 0;

  const { checks, scope, statementMs, json, verbose } = asked;
  const tell = json ? complain : say;
  const begin = performance.now();
  const onResult = (result: Result) => {
    for (const line of linesOf(result)) tell(line);
  };
  const onStart = ({ name }: Check) => {
    if (verbose) complain(`${((performance.now() - begin) / 1_000).toFixed(1).padStart(6)} s  ${name} …`);
  };
  const results = await runChecks(config, checks, { scope, statementMs, onStart, onResult });
  const ms = Math.round(performance.now() - begin);
  if (json) say(JSON.stringify(jsonOf(results, ms)));
  const count = (status: string) => results.filter((result) => statusOf(result) === status).length;
  tell(
    `${results.length} checks in ${(ms / 1_000).toFixed(1)} s: ${count('differs')} differ, ${count('warns')} warn, ${count('unchecked')} could not be made`,
  );
  return exitCode(results);
}

process.exitCode = await main();
