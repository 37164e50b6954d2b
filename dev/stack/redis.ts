import { closeSync, existsSync, openSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findRedis } from './binaries.ts';
import { Child, describeExit, type StopSteps } from './child.ts';
import { claim, release } from './claim.ts';
import { makeFolder, removeRunFolder, runFolder } from './folders.ts';
import { endLeftovers } from './leftovers.ts';
import { logTail } from './logs.ts';
import type { Part } from './supervisor.ts';

const READY_WITHIN = 60_000;
const STOP_STEPS: StopSteps = [['SIGTERM', 10_000]];

/** What to start. */
export interface RedisOptions {
  /** Private to this server; made when missing. */
  readonly folder: string;
  /** true: what was written survives, up to the last second. false: for tests, memory only. */
  readonly durable: boolean;
}

/** A Redis of our own, at one address for all of its lives. */
export interface Redis extends Part {
  readonly url: string;
  readonly socket: string;
  readonly pid: number;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Starts it again after a kill, or stops it first; `empty` forgets everything it held. */
  restart(how: { readonly empty: boolean }): Promise<void>;
}

/** Starts a private Redis, reached only through a unix socket in a closed folder. */
export async function startRedis(options: RedisOptions): Promise<Redis> {
  makeFolder(options.folder, 0o700);
  const folder = realpathSync(options.folder);
  await claim(folder);
  try {
    const server = new RedisServer(folder, options.durable);
    await server.start();
    return server;
  } catch (error) {
    removeRunFolder(folder);
    release(folder);
    throw error;
  }
}

/** Stops the server that a run which was killed has left in a folder. */
export async function endLeftoverRedis(folder: string): Promise<void> {
  const run = join(folder, 'run');
  const marks = existsSync(run) ? [folder, realpathSync(run)] : [folder];
  await endLeftovers({ folder: join(folder, 'data'), pidFile: pidFile(folder), program: /redis|valkey/, marks, stop: STOP_STEPS });
}

function pidFile(folder: string): string {
  return join(folder, 'pid');
}

class RedisServer implements Redis {
  readonly name = 'redis';
  readonly socket: string;
  readonly url: string;
  readonly died: Promise<string>;
  readonly #folder: string;
  readonly #data: string;
  readonly #log: string;
  readonly #durable: boolean;
  readonly #reportDeath: (how: string) => void;
  /** The one that is meant to be running: the end of any other is no news. */
  #server: Child | undefined;

  constructor(folder: string, durable: boolean) {
    this.#folder = folder;
    this.#data = join(folder, 'data');
    this.#log = join(folder, 'log');
    this.#durable = durable;
    this.socket = join(runFolder(folder), 'redis.sock');
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
    await endLeftoverRedis(this.#folder);
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
    void end.then((how) => {
      if (this.#server === server) this.#reportDeath(how);
    });
  }

  async stop(): Promise<void> {
    await this.#end(STOP_STEPS);
    removeRunFolder(this.#folder);
    release(this.#folder);
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
      // Queues live here: a full memory must be an error, never a forgotten job.
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
    // While it reads its file back in it answers, but with an error.
    if ((await ping(socket)) === '+PONG') return undefined;
    await sleep(20);
    if (!server.isRunning) return new Promise(() => {});
  }
  return `did not answer for ${READY_WITHIN / 1000} seconds`;
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
