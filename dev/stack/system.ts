import { join } from 'node:path';
import type { Exit } from './child.ts';
import { type LocalnetProcess, type LocalnetProcessOptions, startLocalnetProcess, withoutKeys } from './localnet.ts';
import { Console } from './logs.ts';
import { anyPorts } from './ports.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { type OwnProcess, runProcess, startProcess, waitUntilReady } from './processes.ts';
import { type Redis, startRedis } from './redis.ts';
import { Supervisor } from './supervisor.ts';
import { openTemporaryFolder } from './temporary.ts';

const checkout = join(import.meta.dirname, '../..');
const READY_WITHIN = 60_000;

/** The admin token of systems that tests and benches start. */
export const SYSTEM_ADMIN_TOKEN = 'system-admin-token-0123456789';

/** A whole system of real processes on parts of its own: for end-to-end tests, kills and benches. */
export interface System {
  /** One base URL per API process. */
  readonly urls: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly postgres: Postgres;
  readonly redis: Redis;
  /** Where one was asked for. */
  readonly localnet: LocalnetProcess | undefined;
  readonly apis: readonly Replaceable[];
  readonly workers: readonly Replaceable[];
  stop(): Promise<void>;
}

/** A process that may be killed and started again in its place. */
export interface Replaceable {
  readonly name: string;
  /** 0 while it is not running. */
  readonly pid: number;
  /** Ends it as a crash would, and waits until it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop, and waits until it has finished what it had in hand. @returns how it ended; null when it was not running */
  stop(): Promise<Exit | null>;
  /** Starts it in its old place; resolves when it is ready. */
  start(): Promise<void>;
}

/** What to start; one API and one worker on servers that keep nothing, unless told otherwise. */
export interface SystemOptions {
  readonly apis?: number;
  readonly workers?: number;
  /** true: the database waits for the disk, as in production. Else it forgets its last transactions when it is killed. */
  readonly durable?: boolean;
  /** true: Redis knows again what it held when it is killed and restarted. */
  readonly keepingRedis?: boolean;
  /** A cluster, and how fast it goes; without it the system has no chain. */
  readonly localnet?: Omit<LocalnetProcessOptions, 'folder'>;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a system in a folder that goes with it. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const { apis: apiCount = 1, workers: workerCount = 1, durable = false, keepingRedis = false } = options;
  const stack = new Supervisor((line) => console.error(line));
  const temporary = await openTemporaryFolder('coinop-system-');
  stack.afterwards(() => temporary.remove());
  try {
    const postgres = await stack.start(() => startPostgres({ folder: join(temporary.path, 'postgres'), durable }));
    // It is restarted by whoever uses the system, so nobody watches over it.
    const redis = await startRedis({ folder: join(temporary.path, 'redis'), durable: keepingRedis });
    stack.afterwards(() => redis.stop());
    const localnetOptions = options.localnet;
    const localnet = localnetOptions && (await startLocalnetProcess({ ...localnetOptions, folder: join(temporary.path, 'localnet') }));
    // It is killed and restarted by whoever uses the system, like Redis.
    if (localnet) stack.afterwards(() => localnet.stop());
    const ports = await anyPorts(apiCount);
    const env = {
      ...inherited(),
      NODE_ENV: 'development',
      // Processes that are killed all the time should not compile all the time.
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
    const output = new Console(9);
    const script = (name: string, entry: string, given: NodeJS.ProcessEnv = env) => ({
      name,
      command: process.execPath,
      args: [join(checkout, entry)],
      cwd: checkout,
      env: given,
      output,
    });
    const migrated = await runProcess(stack, script('migrate', 'src/migrate.ts'));
    if (migrated.code !== 0) throw new Error('the database could not be migrated');

    const workers = Array.from({ length: workerCount }, (_, i) => new Place(() => startProcess(script(`worker-${i + 1}`, 'workers/main.ts'))));
    const apis = ports.map((port, i) => {
      const begin = () => startProcess(script(`api-${i + 1}`, 'src/server.ts', { ...withoutKeys(env), PORT: String(port) }));
      return new Place(begin, (api) => waitUntilReady(api, `http://127.0.0.1:${port}/readyz`, READY_WITHIN));
    });
    stack.afterwards(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));
    stack.afterwards(async () => void (await Promise.all(apis.map((api) => api.stop()))));
    await Promise.all([...workers, ...apis].map((place) => place.start()));
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

/** What our processes need of the surroundings, and nothing that would point them elsewhere. */
function inherited(): Record<string, string> {
  return Object.fromEntries(['PATH', 'HOME', 'TMPDIR', 'LANG'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** Where one process runs, and its successors after it. */
class Place implements Replaceable {
  readonly #begin: () => OwnProcess;
  readonly #ready: (process: OwnProcess) => Promise<void>;
  #process: OwnProcess | undefined;

  constructor(begin: () => OwnProcess, ready: (process: OwnProcess) => Promise<void> = async () => {}) {
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
    if (this.#process?.isRunning) throw new Error(`${this.name} is running`);
    this.#process = this.#begin();
    await this.#ready(this.#process);
  }

  async kill(): Promise<void> {
    if (!this.#process?.isRunning) return;
    process.kill(this.#process.pid, 'SIGKILL');
    await this.#process.exited;
  }

  async stop(): Promise<Exit | null> {
    const running = this.#process;
    if (!running?.isRunning) return null;
    await running.stop();
    return await running.exited;
  }
}
