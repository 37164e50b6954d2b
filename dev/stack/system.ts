import { join } from 'node:path';
import { type LocalnetProcess, type LocalnetProcessOptions, startLocalnetProcess, withoutKeys } from './localnet.ts';
import { ProcessOutput } from './logs.ts';
import { startPatroni } from './patroni/cluster.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { ApiSlot, ProcessSlot, type RestartableProcess } from './process-slot.ts';
import { runProcess } from './processes.ts';
import { type Redis, startRedis } from './redis.ts';
import { startFailoverRedis } from './redis-group/failover.ts';
import { Supervisor } from './supervisor.ts';
import { openTemporaryFolder } from './temporary.ts';

/** Folder of the release whose processes the system runs: this checkout, or the one that `bin/bench compare` measures. */
const checkout = process.env.SYSTEM_CHECKOUT ?? join(import.meta.dirname, '../..');

/** The origin of the web pages of systems that tests and benchmarks start. It differs from the URLs, because each API process chooses its port. */
export const SYSTEM_ORIGIN = 'http://coinop.test';

/** The admin token of systems that tests and benchmarks start. */
export const SYSTEM_ADMIN_TOKEN = 'system-admin-token-0123456789';

/** A complete system of real processes with its own PostgreSQL and Redis, for end-to-end tests, chaos tests and benchmarks. */
export interface System {
  /** Base URLs, one per API process. They stay the same when the process is restarted. */
  readonly urls: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly postgres: Postgres;
  readonly redis: Redis;
  /** The localnet; undefined if `SystemOptions.localnet` is not set. */
  readonly localnet: LocalnetProcess | undefined;
  readonly apis: readonly RestartableProcess[];
  readonly workers: readonly RestartableProcess[];
  stop(): Promise<void>;
}

/** The processes and servers to start. Default: one API, one worker, servers without durability, no localnet. */
export interface SystemOptions {
  readonly apis?: number;
  readonly workers?: number;
  /** Whether PostgreSQL waits for the disk at each commit, as in production. If false, a crash of PostgreSQL loses the last transactions. */
  readonly durable?: boolean;
  /** Two PostgreSQL servers under Patroni, in place of one server. */
  readonly patroni?: boolean;
  /** Three Redis servers with Sentinels, in place of one server. They keep their data in memory only. */
  readonly sentinels?: boolean;
  /** Further settings of PostgreSQL. Not with `patroni`. */
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** Whether Redis restores its data after a kill and a restart. */
  readonly durableRedis?: boolean;
  /** Options of the localnet to start. If undefined, the system has no Solana cluster. */
  readonly localnet?: Omit<LocalnetProcessOptions, 'folder'>;
  readonly env?: Readonly<Record<string, string>>;
  /** Receives each line that a process writes. API processes log at the level `info` in any case. */
  readonly onLine?: (name: string, line: string) => void;
}

/** Starts a system in a temporary folder, which is deleted when the system stops. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const {
    apis: apiCount = 1,
    workers: workerCount = 1,
    durable = false,
    durableRedis = false,
    patroni = false,
    sentinels = false,
    postgresSettings: settings = {},
  } = options;
  const stack = new Supervisor((line) => console.error(line));
  const temporary = await openTemporaryFolder('coinop-system-');
  stack.onStop(() => temporary.remove());
  try {
    const postgres = await stack.start<Postgres>(() =>
      patroni
        ? startPatroni({ folder: join(temporary.path, 'patroni') })
        : startPostgres({ folder: join(temporary.path, 'postgres'), durable, settings }),
    );
    // The caller may kill and restart Redis, so the supervisor does not watch it.
    const redisFolder = join(temporary.path, 'redis');
    const redis: Redis = await (sentinels ? startFailoverRedis(redisFolder) : startRedis({ folder: redisFolder, durable: durableRedis }));
    stack.onStop(() => redis.stop());
    const localnetOptions = options.localnet;
    const localnet = localnetOptions && (await startLocalnetProcess({ ...localnetOptions, folder: join(temporary.path, 'localnet') }));
    // The caller may kill and restart the localnet, so the supervisor does not watch it.
    if (localnet) stack.onStop(() => localnet.stop());
    const env = {
      ...inherited(),
      NODE_ENV: 'development',
      ...compileCache(),
      LOG_LEVEL: 'error',
      DATABASE_URL: postgres.serviceUrl,
      REDIS_URL: redis.url,
      ADMIN_TOKENS: SYSTEM_ADMIN_TOKEN,
      PUBLIC_URL: SYSTEM_ORIGIN,
      METRICS_PORT: '0',
      MEDIA_FOLDER: join(temporary.path, 'media'),
      // Few wallets of a test or benchmark play as much as thousands of people.
      UNVERIFIED_SCORES_PER_MINUTE: '1000000',
      UNVERIFIED_SCORES_PER_DAY: '1000000000',
      CHAT_MESSAGES_PER_DAY: '1000000000',
      ...localnet?.env,
      ...options.env,
    };
    const output = new ProcessOutput(9, env.LOG_LEVEL, options.onLine);
    const script = (name: string, entry: string, processEnv: NodeJS.ProcessEnv = env) => ({
      name,
      command: process.execPath,
      args: [join(checkout, entry)],
      cwd: checkout,
      env: processEnv,
      output,
    });
    const migrated = await runProcess(stack, script('migrate', 'src/migrate.ts', { ...env, MIGRATION_DATABASE_URL: postgres.url }));
    if (migrated.code !== 0) throw new Error('src/migrate.ts failed; its error is in the output above');

    const workers = Array.from({ length: workerCount }, (_, i) => new ProcessSlot(script(`worker-${i + 1}`, 'workers/main.ts')));
    // An API process logs its port at the level `info`; `output` drops the lines below the level that the caller chose.
    const apiEnv = { ...withoutKeys(env), LOG_LEVEL: 'info' };
    const apis = Array.from({ length: apiCount }, (_, i) => new ApiSlot(script(`api-${i + 1}`, 'src/server.ts', apiEnv)));
    stack.onStop(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));
    stack.onStop(async () => void (await Promise.all(apis.map((api) => api.stop()))));
    await Promise.all([...workers, ...apis].map((slot) => slot.start()));
    return {
      urls: apis.map(({ port }) => `http://localhost:${port}`),
      env,
      postgres,
      redis,
      localnet,
      apis,
      workers,
      stop: async () => void (await stack.stop()),
    };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

/**
 * Returns the setting of the cache with which Node.js does not compile the modules again at each start of a process. Empty while coverage is measured,
 * because code from the cache has no precise coverage.
 */
export function compileCache(): Record<string, string> {
  return process.env.NODE_V8_COVERAGE ? {} : { NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compiled') };
}

/**
 * Returns the environment variables of this process that the started processes get. DATABASE_URL and REDIS_URL are not among them, so a system never
 * uses the caller's servers.
 */
function inherited(): Record<string, string> {
  return Object.fromEntries(['PATH', 'HOME', 'TMPDIR', 'LANG'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
