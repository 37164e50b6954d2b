import { closeSync, existsSync, openSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findRedis } from './binaries.ts';
import { Child, describeExit, type StopSteps } from './child.ts';
import { lockFolder, unlockFolder } from './folder-lock.ts';
import { makeFolder, removeSocketFolder, socketFolder } from './folders.ts';
import { logTail } from './logs.ts';
import { stopOrphans } from './orphans.ts';
import type { StackPart } from './supervisor.ts';

const READY_WITHIN = 60_000;
const STOP_STEPS: StopSteps = [['SIGTERM', 10_000]];

export interface RedisOptions {
  /** Data folder, used by this server only; created if missing. */
  readonly folder: string;
  /**
   * Whether Redis writes its data to disk, so that a crash loses at most the last second of writes. If false, the data is in memory only, for tests.
   */
  readonly durable: boolean;
}

/** A private Redis. Its URL does not change at a restart. */
export interface Redis extends StackPart {
  readonly url: string;
  readonly pid: number;
  /** Ends the server by SIGKILL, as in a crash. */
  kill(): Promise<void>;
  /** Stops the server if it runs, then starts it. If `empty` is true, deletes the data before the start. */
  restart(how: { readonly empty: boolean }): Promise<void>;
  /** Returns the number of failovers since the start, with and without an injected fault. A single server cannot fail over, so it does not have this method. */
  failovers?(): Promise<number>;
}

/** One private Redis server. */
export interface SingleRedis extends Redis {
  readonly socket: string;
}

/** Starts a private Redis that listens only on a unix socket in a folder of mode 0700. */
export async function startRedis(options: RedisOptions): Promise<SingleRedis> {
  makeFolder(options.folder, 0o700);
  const folder = realpathSync(options.folder);
  await lockFolder(folder);
  try {
    const server = new RedisServer(folder, options.durable);
    await server.start();
    return server;
  } catch (error) {
    removeSocketFolder(folder);
    unlockFolder(folder);
    throw error;
  }
}

/** Stops the Redis in a folder if it still runs after its parent process was killed. */
export async function stopOrphanedRedis(folder: string): Promise<void> {
  const run = join(folder, 'run');
  const commandLineParts = existsSync(run) ? [folder, realpathSync(run)] : [folder];
  await stopOrphans({ folder: join(folder, 'data'), pidFile: pidFile(folder), program: /redis|valkey/, commandLineParts, stop: STOP_STEPS });
}

function pidFile(folder: string): string {
  return join(folder, 'pid');
}

class RedisServer implements SingleRedis {
  readonly name = 'redis';
  readonly socket: string;
  readonly url: string;
  readonly died: Promise<string>;
  readonly #folder: string;
  readonly #data: string;
  readonly #log: string;
  readonly #durable: boolean;
  readonly #reportDeath: (how: string) => void;
  /** The running child process. Undefined during `stop`, `kill` and `restart`, so that `died` does not report an intended exit. */
  #server: Child | undefined;

  constructor(folder: string, durable: boolean) {
    this.#folder = folder;
    this.#data = join(folder, 'data');
    this.#log = join(folder, 'log');
    this.#durable = durable;
    this.socket = join(socketFolder(folder), 'redis.sock');
    this.url = `unix://${this.socket}?db=0`;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.died = promise;
    this.#reportDeath = resolve;
  }

  get pid(): number {
    return this.#server?.pid ?? 0;
  }

  async start(): Promise<void> {
    const program = findRedis();
    if (!program) throw new Error('Redis (6.2 or newer) is not installed: run bin/setup');
    makeFolder(this.#data, 0o700);
    await stopOrphanedRedis(this.#folder);
    const logFile = openSync(this.#log, 'w', 0o600);
    const server = new Child({
      command: program,
      args: this.#arguments(),
      cwd: this.#folder,
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', logFile, logFile],
      orphanSignal: 'SIGTERM',
      exitSignal: 'SIGKILL',
    });
    closeSync(logFile);
    this.#server = server;
    const end = server.exited.then((exit) => `${describeExit(exit)}; the end of ${this.#log}:\n${logTail(this.#log)}`);
    const failure = await Promise.race([end, ready(server, this.socket)]);
    if (failure !== undefined) {
      await this.#end(STOP_STEPS);
      throw new Error(`Redis ${failure}`);
    }
    server.unref();
    const report = (how: unknown) => {
      if (this.#server === server) this.#reportDeath(String(how));
    };
    end.then(report, report);
  }

  async stop(): Promise<void> {
    await this.#end(STOP_STEPS);
    removeSocketFolder(this.#folder);
    unlockFolder(this.#folder);
  }

  async kill(): Promise<void> {
    await this.#end([]);
  }

  async restart({ empty }: { readonly empty: boolean }): Promise<void> {
    await this.#end(STOP_STEPS);
    if (empty) rmSync(this.#data, { recursive: true, force: true });
    await this.start();
  }

  async #end(steps: StopSteps): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await server?.stop(steps);
  }

  #arguments(): string[] {
    const settings = {
      port: '0',
      unixsocket: this.socket,
      unixsocketperm: '700',
      dir: this.#data,
      pidfile: pidFile(this.#folder),
      daemonize: 'no',
      // Redis stores the job queues. When its memory is full, a write must fail; Redis must not evict a job.
      'maxmemory-policy': 'noeviction',
      save: '',
      appendonly: this.#durable ? 'yes' : 'no',
      appendfsync: 'everysec',
    };
    return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  }
}

async function ready(server: Child, socket: string): Promise<string | undefined> {
  const end = Date.now() + READY_WITHIN;
  while (Date.now() < end) {
    // While Redis loads its append-only file, it replies to PING with an error.
    if ((await ping(socket)) === '+PONG') return undefined;
    await sleep(20);
    if (!server.isRunning) return new Promise(() => {});
  }
  return `did not respond for ${READY_WITHIN / 1000} seconds`;
}

function ping(socket: string): Promise<string> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.setTimeout(1_000, () => connection.destroy());
    connection.once('connect', () => connection.write('PING\r\n'));
    connection.once('data', (answer) => {
      resolve(answer.toString().trim());
      connection.destroy();
    });
    connection.once('error', () => resolve(''));
    connection.once('close', () => resolve(''));
  });
}
