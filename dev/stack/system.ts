import { join } from 'node:path';
import type { ProcessExit } from './child.ts';
import { type LocalnetProcess, type LocalnetProcessOptions, startLocalnetProcess, withoutKeys } from './localnet.ts';
import { ProcessOutput } from './logs.ts';
import { freePorts } from './ports.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { runProcess, type ServiceProcess, startProcess, waitUntilReady } from './processes.ts';
import { type Redis, startRedis } from './redis.ts';
import { Supervisor } from './supervisor.ts';
import { openTemporaryFolder } from './temporary.ts';

const checkout = join(import.meta.dirname, '../..');
const READY_WITHIN = 60_000;

/** The admin token of systems that tests and benchmarks start. */
export const SYSTEM_ADMIN_TOKEN = 'system-admin-token-0123456789';

/** A complete system of real processes with its own PostgreSQL and Redis, for end-to-end tests, chaos tests and benchmarks. */
export interface System {
  /** Base URLs, one per API process. */
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

/** An API or worker process that tests kill and start again. */
export interface RestartableProcess {
  readonly name: string;
  /** Process id; 0 while the process is not running. */
  readonly pid: number;
  /** Ends the process by SIGKILL and waits for its exit. */
  kill(): Promise<void>;
  /**
   * Stops the process gracefully and waits for its exit.
   * @returns the exit code or signal; null if the process was not running
   */
  stop(): Promise<ProcessExit | null>;
  /** Starts the process with the same settings. Resolves when it is ready. */
  start(): Promise<void>;
}

/** The processes and servers to start. Default: one API, one worker, servers without durability, no localnet. */
export interface SystemOptions {
  readonly apis?: number;
  readonly workers?: number;
  /** Whether PostgreSQL waits for the disk at each commit, as in production. If false, a crash of PostgreSQL loses the last transactions. */
  readonly durable?: boolean;
  /** Whether Redis restores its data after a kill and a restart. */
  readonly durableRedis?: boolean;
  /** Options of the localnet to start. If undefined, the system has no Solana cluster. */
  readonly localnet?: Omit<LocalnetProcessOptions, 'folder'>;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a system in a temporary folder, which is deleted when the system stops. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const { apis: apiCount = 1, workers: workerCount = 1, durable = false, durableRedis = false } = options;
  const stack = new Supervisor((line) => console.error(line));
  const temporary = await openTemporaryFolder('coinop-system-');
  stack.onStop(() => temporary.remove());
  try {
    const postgres = await stack.start(() => startPostgres({ folder: join(temporary.path, 'postgres'), durable }));
    // The caller may kill and restart Redis, so the supervisor does not watch it.
    const redis = await startRedis({ folder: join(temporary.path, 'redis'), durable: durableRedis });
    stack.onStop(() => redis.stop());
    const localnetOptions = options.localnet;
    const localnet = localnetOptions && (await startLocalnetProcess({ ...localnetOptions, folder: join(temporary.path, 'localnet') }));
    // The caller may kill and restart the localnet, so the supervisor does not watch it.
    if (localnet) stack.onStop(() => localnet.stop());
    const ports = await freePorts(apiCount);
    const env = {
      ...inherited(),
      NODE_ENV: 'development',
      // Tests restart the processes many times. With this cache, Node.js does not compile the modules again at each start.
      NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compiled'),
      LOG_LEVEL: 'error',
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      ADMIN_TOKENS: SYSTEM_ADMIN_TOKEN,
      PUBLIC_URL: `http://localhost:${ports[0]}`,
      ALLOWED_ORIGINS: ports.map((port) => `http://localhost:${port}`).join(','),
      METRICS_PORT: '0',
      MEDIA_FOLDER: join(temporary.path, 'media'),
      ...localnet?.env,
      ...options.env,
    };
    const output = new ProcessOutput(9);
    const script = (name: string, entry: string, processEnv: NodeJS.ProcessEnv = env) => ({
      name,
      command: process.execPath,
      args: [join(checkout, entry)],
      cwd: checkout,
      env: processEnv,
      output,
    });
    const migrated = await runProcess(stack, script('migrate', 'src/migrate.ts'));
    if (migrated.code !== 0) throw new Error('src/migrate.ts failed; its error is in the output above');

    const workers = Array.from({ length: workerCount }, (_, i) => new ProcessSlot(() => startProcess(script(`worker-${i + 1}`, 'workers/main.ts'))));
    const apis = ports.map((port, i) => {
      const begin = () => startProcess(script(`api-${i + 1}`, 'src/server.ts', { ...withoutKeys(env), PORT: String(port) }));
      return new ProcessSlot(begin, (api) => waitUntilReady(api, `http://127.0.0.1:${port}/readyz`, READY_WITHIN));
    });
    stack.onStop(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));
    stack.onStop(async () => void (await Promise.all(apis.map((api) => api.stop()))));
    await Promise.all([...workers, ...apis].map((slot) => slot.start()));
    return {
      urls: ports.map((port) => `http://localhost:${port}`),
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
 * Returns the environment variables of this process that the started processes get. DATABASE_URL and REDIS_URL are not among them, so a system never
 * uses the caller's servers.
 */
function inherited(): Record<string, string> {
  return Object.fromEntries(['PATH', 'HOME', 'TMPDIR', 'LANG'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** A handle for one API or worker process. The process can be killed and started again under the same name. */
class ProcessSlot implements RestartableProcess {
  readonly #begin: () => ServiceProcess;
  readonly #ready: (process: ServiceProcess) => Promise<void>;
  #process: ServiceProcess | undefined;

  constructor(begin: () => ServiceProcess, ready: (process: ServiceProcess) => Promise<void> = async () => {}) {
    this.#begin = begin;
    this.#ready = ready;
  }

  get name(): string {
    return this.#process?.name ?? '';
  }

  get pid(): number {
    return this.#process?.isRunning ? this.#process.pid : 0;
  }

  async start(): Promise<void> {
    if (this.#process?.isRunning) throw new Error(`${this.name} is running already`);
    this.#process = this.#begin();
    await this.#ready(this.#process);
  }

  async kill(): Promise<void> {
    if (!this.#process?.isRunning) return;
    process.kill(this.#process.pid, 'SIGKILL');
    await this.#process.exited;
  }

  async stop(): Promise<ProcessExit | null> {
    const running = this.#process;
    if (!running?.isRunning) return null;
    await running.stop();
    return await running.exited;
  }
}
