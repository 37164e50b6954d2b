import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findRedis } from '../binaries.ts';
import { Child, describeExit, type StopSteps } from '../child.ts';
import { makeFolder } from '../folders.ts';
import { logTail } from '../logs.ts';
import { stopOrphans } from '../orphans.ts';
import { steadyPorts } from '../ports.ts';

export const HOST = '127.0.0.1';
const READY_WITHIN_MS = 60_000;
const STOP_STEPS: StopSteps = [['SIGTERM', 10_000]];
/** Maximum attempts to start a server, each with other ports. Another process may take a port between its choice and the start. */
const PORT_ATTEMPTS = 5;

/** One server of a group. */
export interface RedisServerProcess {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** Ends the server by SIGKILL, as in a crash. Its data is lost. */
  kill(): Promise<void>;
  /** Starts the server again at the same port, without data. A node of a cluster remembers the other nodes. */
  start(): Promise<void>;
  /** Opens a connection to this server. The caller closes it. */
  connect(): Redis;
}

/** A certificate for 127.0.0.1 that is its own authority, and its key, PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Returns the arguments of a server. @param busPort a second port, on which the nodes of a cluster talk to each other */
export type Arguments = (busPort: number) => readonly string[];

/** A Redis server or a Sentinel. */
export class ServerProcess implements RedisServerProcess {
  readonly name: string;
  readonly port: number;
  readonly busPort: number;
  readonly #folder: string;
  readonly #arguments: readonly string[];
  readonly #certificate: Certificate | undefined;
  #child: Child | undefined;

  private constructor(
    folder: string,
    name: string,
    [port = 0, busPort = 0]: readonly number[],
    argumentsOf: Arguments,
    certificate: Certificate | undefined,
  ) {
    this.#certificate = certificate;
    this.name = name;
    this.port = port;
    this.busPort = busPort;
    this.#folder = folder;
    this.#arguments = argumentsOf(busPort);
  }

  static async start(folder: string, name: string, argumentsOf: Arguments, certificate: Certificate | undefined): Promise<ServerProcess> {
    await stopOrphanedServer(folder);
    for (let attempt = 1; ; attempt++) {
      rmSync(folder, { recursive: true, force: true });
      makeFolder(folder, 0o700);
      const server = new ServerProcess(folder, name, await steadyPorts(2), argumentsOf, certificate);
      try {
        await server.start();
        return server;
      } catch (error) {
        await server.stop();
        if (attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  get pid(): number {
    return this.#child?.isRunning ? this.#child.pid : 0;
  }

  async start(): Promise<void> {
    const program = findRedis();
    if (!program) throw new Error('Redis (7.0 or newer) is not installed: run bin/setup');
    const data = join(this.#folder, 'data');
    makeFolder(data, 0o700);
    // A replica writes the data that it receives from its primary to this file.
    rmSync(join(data, 'dump.rdb'), { force: true });
    const log = join(this.#folder, 'log');
    const logFile = openSync(log, 'a', 0o600);
    const isSentinel = this.#arguments.includes('--sentinel');
    const settings = {
      bind: HOST,
      save: '',
      appendonly: 'no',
      'maxmemory-policy': 'noeviction',
      'repl-diskless-sync-delay': '0',
    };
    const common = {
      ...this.#listening(),
      dir: data,
      pidfile: join(this.#folder, 'pid'),
      daemonize: 'no',
      'protected-mode': 'no',
      ...(isSentinel ? {} : settings),
    };
    const child = new Child({
      command: program,
      args: [...this.#arguments, ...Object.entries(common).flatMap(([name, value]) => [`--${name}`, value])],
      cwd: data,
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', logFile, logFile],
      orphanSignal: 'SIGTERM',
      exitSignal: 'SIGKILL',
    });
    closeSync(logFile);
    this.#child = child;
    const failed = child.exited.then((exit) => Promise.reject(new Error(`${this.name} ${describeExit(exit)}; the end of ${log}:\n${logTail(log)}`)));
    failed.catch(() => undefined);
    await Promise.race([failed, this.until(async (redis) => (await redis.call('PING').catch(() => null)) === 'PONG')]);
    child.unref();
  }

  /** Returns the settings of the ports. Writes the certificate to files. */
  #listening(): Record<string, string> {
    if (!this.#certificate) return { port: String(this.port) };
    const [cert, key] = [join(this.#folder, 'cert.pem'), join(this.#folder, 'key.pem')];
    writeFileSync(cert, this.#certificate.cert);
    writeFileSync(key, this.#certificate.key, { mode: 0o600 });
    return {
      ...{ port: '0', 'tls-port': String(this.port), 'tls-cert-file': cert, 'tls-key-file': key, 'tls-ca-cert-file': cert },
      ...{ 'tls-auth-clients': 'no', 'tls-replication': 'yes', 'tls-cluster': 'yes' },
    };
  }

  async kill(): Promise<void> {
    await this.#child?.stop([]);
  }

  async stop(): Promise<void> {
    await this.#child?.stop(STOP_STEPS);
  }

  connect(): Redis {
    const tls = this.#certificate && { ca: this.#certificate.cert };
    const address = { host: HOST, port: this.port, ...(tls ? { tls } : {}) };
    const redis = new Redis({ ...address, enableReadyCheck: false, maxRetriesPerRequest: null, retryStrategy: () => 100 });
    redis.on('error', () => undefined);
    return redis;
  }

  /** Sends commands over a connection of their own. */
  async ask<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = this.connect();
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** Waits until a condition holds. */
  async until(holds: (redis: Redis) => Promise<boolean>): Promise<void> {
    const end = Date.now() + READY_WITHIN_MS;
    await this.ask(async (redis) => {
      while (!(await holds(redis))) {
        if (Date.now() > end) throw new Error(`${this.name} was not ready within ${READY_WITHIN_MS / 1_000} seconds`);
        await sleep(50);
      }
    });
  }
}

/** Stops a server that still runs after its parent process was killed. @param folder the folder of the server */
export async function stopOrphanedServer(folder: string): Promise<void> {
  const data = join(folder, 'data');
  await stopOrphans({ folder: data, pidFile: join(folder, 'pid'), program: /redis|valkey/, commandLineParts: [data], stop: STOP_STEPS });
}
