import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { LocalnetControl } from '#dev/localnet/control/control.ts';
import { describeExit } from './child.ts';
import { dataFolder } from './folders.ts';
import { type LocalnetProcess, startLocalnetProcess, withoutKeys } from './localnet.ts';
import { ProcessOutput } from './logs.ts';
import { type ApiPorts, choosePorts, wholeNumber } from './ports.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { type ProcessOptions, runProcess, startProcess, waitUntilReady } from './processes.ts';
import { type SingleRedis, startRedis } from './redis.ts';
import { printedLines, type ShellVariable, withoutEarlierLines, writeShellFile } from './shell-lines.ts';
import { type Supervisor, supervise } from './supervisor.ts';

const READY_WITHIN = 60_000;

/** The inputs of `bin/dev`. */
export interface DevOptions {
  readonly checkout: string;
  readonly env: NodeJS.ProcessEnv;
  /** Command line arguments: `--at TIME`, `--watch`. */
  readonly args: readonly string[];
  /** The scripts to run, relative to the checkout. */
  readonly entries: { readonly web: string; readonly migrate: string; readonly server: string; readonly worker: string };
}

/** Starts all servers and processes, and runs them until they are stopped. @returns the exit code */
async function dev(options: DevOptions): Promise<number> {
  const output = new ProcessOutput(9);
  const print = (text: string): void => output.print('coinop', text);
  const code = await supervise((stack) => startAll(stack, options, output, print), { print, interruptedCode: () => 0 });
  print('Stopped.');
  return code;
}

async function startAll(stack: Supervisor, options: DevOptions, output: ProcessOutput, print: (text: string) => void): Promise<number> {
  const { checkout, entries } = options;
  const env = withoutEarlierLines(options.env);
  const { at, watch } = parseArguments(options.args);
  const offsetSec = clockOffsetSec(at, env);
  const apiCount = wholeNumber('API_PROCESSES', env.API_PROCESSES || '1', 1, 64);
  const workerCount = wholeNumber('WORKER_PROCESSES', env.WORKER_PROCESSES || '1', 0, 64);
  const firstMetricsPort = wholeNumber('METRICS_PORT', env.METRICS_PORT || '0', 0, 65_535 - apiCount - workerCount);
  const apiPorts = await choosePorts(env.PORT, apiCount);
  const data = dataFolder(checkout, env.COINOP_DATA);

  const postgres = env.DATABASE_URL ? undefined : await stack.start(() => startPostgres({ folder: join(data, 'postgres'), durable: true }));
  print(postgres ? 'PostgreSQL is running.' : 'Using the PostgreSQL of DATABASE_URL.');
  const redis = env.REDIS_URL ? undefined : await stack.start(() => startRedis({ folder: join(data, 'redis'), durable: true }));
  print(redis ? 'Redis is running.' : 'Using the Redis of REDIS_URL.');

  const localnet = env.SOLANA_RPC_URL
    ? undefined
    : await stack.start(() => startLocalnetProcess({ folder: join(data, 'localnet'), port: 8899, mayMove: true }));
  if (localnet) await new LocalnetControl(localnet.url).setOffset(offsetSec * 1_000);
  print(localnet ? 'The localnet is running.' : 'Using the Solana cluster of SOLANA_RPC_URL.');
  if (offsetSec !== 0) print(`The clock is shifted: for the service it is ${new Date(Date.now() + offsetSec * 1_000).toISOString()}.`);

  const adminTokens = env.ADMIN_TOKENS || ownSecret(data, 'admin-token', () => randomBytes(24).toString('base64url'));
  const webhookSecret = ownSecret(data, 'webhook-secret', () => `whsec_${randomBytes(32).toString('base64')}`);
  const webhookSecrets = { WEBHOOK_SECRET_CHAT_BRIDGE: webhookSecret, WEBHOOK_SECRET_PAYMENT_STATUS: webhookSecret };
  const shared: NodeJS.ProcessEnv = {
    NODE_ENV: 'development',
    PUBLIC_URL: `http://localhost:${apiPorts.ports[0]}`,
    ...localnet?.env,
    // On the localnet a transaction is finalized after about 13 s, so lottery draws can use shorter waiting times than in production.
    ...(localnet ? { DRAW_LEAD_SEC: '30' } : {}),
    ...webhookSecrets,
    ...env,
    // The draws account of the localnet names this key, so another key cannot sign receipts of its rounds.
    ...(localnet ? { RECEIPT_KEY: localnet.env.RECEIPT_KEY } : {}),
    DATABASE_URL: postgres?.serviceUrl ?? env.DATABASE_URL,
    MIGRATION_DATABASE_URL: undefined,
    REDIS_URL: redis?.url ?? env.REDIS_URL,
    ADMIN_TOKENS: adminTokens,
    METRICS_PORT: '0',
    CLOCK_OFFSET_SEC: String(offsetSec),
  };
  const script = (name: string, entry: string, processEnv: NodeJS.ProcessEnv): ProcessOptions => ({
    name,
    command: process.execPath,
    args: [join(checkout, entry)],
    cwd: checkout,
    env: processEnv,
    output,
  });
  // Node.js restarts the process when a file that the process has loaded changes. If the new code fails, Node.js waits for the next change. Node.js
  // forwards SIGTERM to the process; a SIGKILL would leave the process running.
  const watched = (name: string, entry: string, processEnv: NodeJS.ProcessEnv): ProcessOptions => {
    const plain = script(name, entry, processEnv);
    return watch ? { ...plain, args: ['--watch', '--watch-preserve-output', ...plain.args], orphanSignal: 'SIGTERM' } : plain;
  };
  const metricsPort = (index: number): string => String(firstMetricsPort && firstMetricsPort + index);

  const built = await runProcess(stack, { ...script('web', entries.web, shared), args: [join(checkout, entries.web), '--quiet'] });
  if (built.code !== 0) throw new Error(`${entries.web} ${describeExit(built)}`);
  // Builds the arcade page again when one of its files changes. The API reads a newer build by itself.
  const webSource = join(checkout, dirname(entries.web), 'src');
  const webWatch = ['--watch', `--watch-path=${webSource}`, '--watch-preserve-output', join(checkout, entries.web), '--quiet'];
  if (watch) await stack.start(() => startProcess({ ...script('web', entries.web, shared), args: webWatch, orphanSignal: 'SIGTERM' }));
  // Only the migration gets the URL of the role that owns the database.
  const migration = { ...shared, MIGRATION_DATABASE_URL: postgres?.url ?? env.MIGRATION_DATABASE_URL };
  const migrated = await runProcess(stack, script('migrate', entries.migrate, migration));
  if (migrated.code !== 0) throw new Error(`${entries.migrate} ${describeExit(migrated)}`);

  // The supervisor stops processes in the reverse order of their start. The workers start before the API and therefore stop after it, so that they
  // still process the jobs of the last requests.
  await stack.startTogether(
    named('worker', workerCount).map(
      (name, index) => () => startProcess(watched(name, entries.worker, { ...shared, METRICS_PORT: metricsPort(apiCount + index) })),
    ),
  );
  const apis = await stack.startTogether(
    named('api', apiCount).map((name, index) => () => {
      const port = String(apiPorts.ports[index]);
      return startProcess(watched(name, entries.server, { ...withoutKeys(shared), PORT: port, METRICS_PORT: metricsPort(index) }));
    }),
  );
  await Promise.all(apis.map((api, index) => waitUntilReady(api, `http://127.0.0.1:${apiPorts.ports[index]}/readyz`, READY_WITHIN)));
  if (!stack.isEnding) {
    const file = env.COINOP_DATA ? join(data, 'env') : join(checkout, '.data/env');
    const variables = shellVariables(migration, { ...localnet?.env, ...webhookSecrets }, env);
    writeShellFile(file, variables);
    process.stdout.write(startupSummary({ apiPorts, data, adminTokens, isOwnToken: !env.ADMIN_TOKENS, postgres, redis, localnet, env }));
    process.stdout.write(`  Paste these lines into another shell, or run:  source ${relative(process.cwd(), file)}\n\n${printedLines(variables)}\n`);
    process.stdout.write('  Ctrl-C stops everything.\n\n');
  }
  return stack.ended;
}

/**
 * Returns the variables with which the commands of README and docs use this system, without signing keys.
 * @param shared the settings of the migration
 * @param chosen the settings that `bin/dev` chooses
 * @param given the environment of the caller
 */
function shellVariables(shared: NodeJS.ProcessEnv, chosen: NodeJS.ProcessEnv, given: NodeJS.ProcessEnv): ShellVariable[] {
  const printed = {
    BASE_URL: shared.PUBLIC_URL,
    RPC_URL: shared.SOLANA_RPC_URL,
    // An entry of ADMIN_TOKENS is the token, or a name, scopes and the token, separated by colons.
    ADMIN_TOKEN: shared.ADMIN_TOKENS?.split(',')[0]?.split(':').at(-1),
    DATABASE_URL: shared.DATABASE_URL,
    MIGRATION_DATABASE_URL: shared.MIGRATION_DATABASE_URL,
    REDIS_URL: shared.REDIS_URL,
  };
  const settingOf: Readonly<Record<string, string>> = { BASE_URL: 'PUBLIC_URL', RPC_URL: 'SOLANA_RPC_URL', ADMIN_TOKEN: 'ADMIN_TOKENS' };
  const settings = withoutKeys({ ...chosen, ADMIN_TOKENS: shared.ADMIN_TOKENS, PUBLIC_URL: shared.PUBLIC_URL });
  const all = Object.entries({ ...printed, ...Object.fromEntries(Object.keys(settings).map((name) => [name, shared[name]])) });
  return all.flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value, isGiven: (settingOf[name] ?? name) in given, isPrinted: name in printed }],
  );
}

/**
 * Parses the command line arguments.
 * @throws when an argument is wrong
 */
export function parseArguments(args: readonly string[]): { readonly at: string | undefined; readonly watch: boolean } {
  const { at, watch } = parseArgs({ args: [...args], options: { at: { type: 'string' }, watch: { type: 'boolean', default: false } } }).values;
  return { at, watch };
}

/**
 * Returns the clock offset: the time that the processes use minus the system time. With `--at TIME` (`at`), the offset is TIME minus the system time;
 * without `--at`, it is CLOCK_OFFSET_SEC.
 * @returns whole seconds; 0 means that the clock is not shifted
 * @throws when TIME is not in the future, or when the clock is shifted and SOLANA_RPC_URL is set, because only the clock and the beacon of the
 * localnet can be shifted
 */
export function clockOffsetSec(at: string | undefined, env: NodeJS.ProcessEnv, nowMs = Date.now()): number {
  const offsetSec = at === undefined ? Number(env.CLOCK_OFFSET_SEC || 0) : Math.round((Date.parse(at) - nowMs) / 1_000);
  if (at !== undefined && !(offsetSec > 0)) throw new Error(`--at must be a future time such as 2026-12-28T06:00:00Z, not ${JSON.stringify(at)}`);
  if (offsetSec !== 0 && env.SOLANA_RPC_URL) throw new Error('The clock can only be shifted with the localnet: unset SOLANA_RPC_URL');
  return offsetSec;
}

/** Returns the names of `count` processes: `api` for one process, `api-1`, `api-2`… for several. */
function named(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => (count === 1 ? name : `${name}-${index + 1}`));
}

/**
 * Returns a secret that is stored in the data folder. Creates it at the first start only, so that bookmarks and scripts with the secret keep
 * working.
 */
function ownSecret(data: string, name: string, create: () => string): string {
  const file = join(data, name);
  if (!existsSync(file)) writeFileSync(file, create(), { mode: 0o600, flag: 'wx' });
  return readFileSync(file, 'utf8').trim();
}

interface SummaryOptions {
  readonly apiPorts: ApiPorts;
  readonly data: string;
  readonly adminTokens: string;
  readonly isOwnToken: boolean;
  readonly postgres: Postgres | undefined;
  readonly redis: SingleRedis | undefined;
  readonly localnet: LocalnetProcess | undefined;
  readonly env: NodeJS.ProcessEnv;
}

function startupSummary({ apiPorts, data, adminTokens, isOwnToken, postgres, redis, localnet, env }: SummaryOptions): string {
  const base = `http://localhost:${apiPorts.ports[0]}`;
  const others = apiPorts.ports
    .slice(1)
    .map((port) => `:${port}`)
    .join(' ');
  const onPath = (env.PATH ?? '').split(delimiter).some((directory) => existsSync(join(directory, 'psql')));
  const psql = onPath || !postgres ? 'psql' : join(postgres.binaries, 'psql');
  // URLs from the environment may contain passwords, so they are not printed.
  const rows = [
    ['Arcade', base],
    ['API', `${base}${others && `  and ${others}`}${apiPorts.moved ? '  (port 3000 is in use)' : ''}`],
    ['Docs', `${base}/docs`],
    ['OpenAPI', `${base}/openapi.json`],
    ['Events', `curl -N ${base}/events`],
    ['Queues', `${base}/admin/queues  (any user name; the password is the admin token)`],
    ['Admin token', isOwnToken ? adminTokens : 'as in ADMIN_TOKENS'],
    ['PostgreSQL', postgres ? `${psql} ${postgres.url}` : 'psql "$DATABASE_URL"'],
    ['Redis', redis ? `redis-cli -s ${redis.socket}` : 'redis-cli -u "$REDIS_URL"'],
    [
      'Solana',
      localnet
        ? `${localnet.url}  (tokens: curl -d '{"wallet":"…","sol":1,"reward":100,"usdc":100}' ${localnet.url}/faucet)`
        : 'as in SOLANA_RPC_URL',
    ],
    ['Data', data],
  ];
  const lines = rows.map(([label, value]) => `  ${label?.padEnd(12)} ${value}`);
  return `\n${lines.join('\n')}\n\n`;
}

if (import.meta.main) {
  const entries = { web: 'packages/web/build.ts', migrate: 'src/migrate.ts', server: 'src/server.ts', worker: 'workers/main.ts' };
  process.exit(await dev({ checkout: join(import.meta.dirname, '../..'), env: process.env, args: process.argv.slice(2), entries }));
}
