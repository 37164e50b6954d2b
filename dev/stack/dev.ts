import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describeExit } from './child.ts';
import { dataFolder } from './folders.ts';
import { type LocalnetProcess, startLocalnetProcess, withoutKeys } from './localnet.ts';
import { Console } from './logs.ts';
import { choosePorts, type Ports, preferred, wholeNumber } from './ports.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { type ProcessOptions, runProcess, startProcess, waitUntilReady } from './processes.ts';
import { type Redis, startRedis } from './redis.ts';
import { type Supervisor, supervise } from './supervisor.ts';

const READY_WITHIN = 60_000;

/** Everything on one machine. */
export interface DevOptions {
  readonly checkout: string;
  readonly env: NodeJS.ProcessEnv;
  /** The scripts to run, relative to the checkout. */
  readonly entries: { readonly migrate: string; readonly server: string; readonly worker: string };
}

/** Brings everything up and keeps it up until it is stopped; returns the exit code. */
export async function dev(options: DevOptions): Promise<number> {
  const output = new Console(9);
  const say = (text: string): void => output.say('coinop', text);
  const code = await supervise((stack) => bringUp(stack, options, output, say), { say, interruptedCode: () => 0 });
  say('Stopped.');
  return code;
}

async function bringUp(stack: Supervisor, options: DevOptions, output: Console, say: (text: string) => void): Promise<number> {
  const { checkout, entries, env } = options;
  const apiCount = wholeNumber('API_PROCESSES', env.API_PROCESSES || '1', 1, 64);
  const workerCount = wholeNumber('WORKER_PROCESSES', env.WORKER_PROCESSES || '1', 0, 64);
  const firstMetricsPort = wholeNumber('METRICS_PORT', env.METRICS_PORT || '0', 0, 65_535 - apiCount - workerCount);
  const places = await choosePorts(env.PORT, apiCount);
  const data = dataFolder(checkout, env.COINOP_DATA);

  const postgres = env.DATABASE_URL ? undefined : await stack.start(() => startPostgres({ folder: join(data, 'postgres'), durable: true }));
  say(postgres ? 'PostgreSQL is up.' : 'PostgreSQL is the one of DATABASE_URL.');
  const redis = env.REDIS_URL ? undefined : await stack.start(() => startRedis({ folder: join(data, 'redis'), durable: true }));
  say(redis ? 'Redis is up.' : 'Redis is the one of REDIS_URL.');

  const localnet = env.SOLANA_RPC_URL
    ? undefined
    : await stack.start(async () => startLocalnetProcess({ folder: join(data, 'localnet'), port: await preferred(8899) }));
  say(localnet ? 'The localnet is up.' : 'Solana is the one of SOLANA_RPC_URL.');

  const adminTokens = env.ADMIN_TOKENS || ownAdminToken(data);
  const shared: NodeJS.ProcessEnv = {
    NODE_ENV: 'development',
    PUBLIC_URL: `http://localhost:${places.ports[0]}`,
    ...localnet?.env,
    // Final after 13 s on the localnet: nobody who develops waits for what production does.
    ...(localnet ? { DRAW_LEAD_SEC: '30', DRAW_MARGIN_SEC: '10' } : {}),
    ...env,
    DATABASE_URL: postgres?.url ?? env.DATABASE_URL,
    REDIS_URL: redis?.url ?? env.REDIS_URL,
    ADMIN_TOKENS: adminTokens,
    METRICS_PORT: '0',
  };
  const script = (name: string, entry: string, given: NodeJS.ProcessEnv): ProcessOptions => ({
    name,
    command: process.execPath,
    args: [join(checkout, entry)],
    cwd: checkout,
    env: given,
    output,
  });
  const metricsPort = (index: number): string => String(firstMetricsPort && firstMetricsPort + index);

  const migrated = await runProcess(stack, script('migrate', entries.migrate, shared));
  if (migrated.code !== 0) throw new Error(`${entries.migrate} ${describeExit(migrated)}`);

  // Workers first, so that they are stopped last: requests that are being finished still get their answers.
  await stack.startTogether(
    named('worker', workerCount).map(
      (name, index) => () => startProcess(script(name, entries.worker, { ...shared, METRICS_PORT: metricsPort(apiCount + index) })),
    ),
  );
  const apis = await stack.startTogether(
    named('api', apiCount).map((name, index) => () => {
      const port = String(places.ports[index]);
      return startProcess(script(name, entries.server, { ...withoutKeys(shared), PORT: port, METRICS_PORT: metricsPort(index) }));
    }),
  );
  await Promise.all(apis.map((api, index) => waitUntilReady(api, `http://127.0.0.1:${places.ports[index]}/readyz`, READY_WITHIN)));
  if (!stack.isEnding) process.stdout.write(signpost({ places, data, adminTokens, isOwnToken: !env.ADMIN_TOKENS, postgres, redis, localnet, env }));
  return stack.ended;
}

/** `api`, or `api-1`, `api-2`… where there are several. */
function named(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => (count === 1 ? name : `${name}-${index + 1}`));
}

/** The admin token of this checkout: made once, so that bookmarks and scripts keep working. */
function ownAdminToken(data: string): string {
  const file = join(data, 'admin-token');
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
  return readFileSync(file, 'utf8').trim();
}

interface Signs {
  readonly places: Ports;
  readonly data: string;
  readonly adminTokens: string;
  readonly isOwnToken: boolean;
  readonly postgres: Postgres | undefined;
  readonly redis: Redis | undefined;
  readonly localnet: LocalnetProcess | undefined;
  readonly env: NodeJS.ProcessEnv;
}

function signpost({ places, data, adminTokens, isOwnToken, postgres, redis, localnet, env }: Signs): string {
  const base = `http://localhost:${places.ports[0]}`;
  const others = places.ports
    .slice(1)
    .map((port) => `:${port}`)
    .join(' ');
  const onPath = (env.PATH ?? '').split(delimiter).some((directory) => existsSync(join(directory, 'psql')));
  const psql = onPath || !postgres ? 'psql' : join(postgres.binaries, 'psql');
  // Passwords that came with a URL are not for the screen.
  const rows = [
    ['API', `${base}${others && `  and ${others}`}${places.moved ? '  (3000 is taken)' : ''}`],
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
  const lines = rows.map(([what, where]) => `  ${what?.padEnd(12)} ${where}`);
  return `\n${lines.join('\n')}\n\n  Ctrl-C stops all of it.\n\n`;
}

if (import.meta.main) {
  const entries = { migrate: 'src/migrate.ts', server: 'src/server.ts', worker: 'workers/main.ts' };
  process.exit(await dev({ checkout: join(import.meta.dirname, '../..'), env: process.env, entries }));
}
