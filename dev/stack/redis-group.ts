import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findRedis } from './binaries.ts';
import { Child, describeExit, type StopSteps } from './child.ts';
import { lockFolder, unlockFolder } from './folder-lock.ts';
import { makeFolder } from './folders.ts';
import { logTail } from './logs.ts';
import { stopOrphans } from './orphans.ts';
import { steadyPorts } from './ports.ts';
import type { StackPart } from './supervisor.ts';

const HOST = '127.0.0.1';
const READY_WITHIN_MS = 60_000;
const STOP_STEPS: StopSteps = [['SIGTERM', 10_000]];
/** Maximum attempts to start a server, each with other ports. Another process may take a port between its choice and the start. */
const PORT_ATTEMPTS = 5;
/** Time without a reply after which a node counts as failed, ms. It is short, so that tests of failovers are short. */
const NODE_TIMEOUT_MS = 2_000;
const MASTERS = 3;
const SLOTS = 16_384;
/** Name under which the Sentinels know the primary. */
export const PRIMARY_NAME = 'coinop';

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

/** Several Redis servers that listen on 127.0.0.1, without data on disk. */
export interface RedisGroup extends StackPart {
  /** The value of REDIS_URL. */
  readonly url: string;
  /** The servers with data: first the primaries, then their replicas, as they were at the start. */
  readonly servers: readonly RedisServerProcess[];
  /** The Sentinels; none in a cluster. */
  readonly sentinels: readonly RedisServerProcess[];
  /** Deletes all keys. */
  clear(): Promise<void>;
}

export type RedisGroupKind = 'sentinel' | 'cluster';

/** Starts a primary with two replicas and three Sentinels, or a cluster of three primaries with one replica each. @param folder used by this group only */
export async function startRedisGroup(kind: RedisGroupKind, folder: string): Promise<RedisGroup> {
  makeFolder(folder, 0o700);
  await lockFolder(folder);
  const started: ServerProcess[] = [];
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()));
    unlockFolder(folder);
  };
  const start = async (name: string, argumentsOf: Arguments) => {
    const server = await ServerProcess.start(join(folder, name), name, argumentsOf);
    started.push(server);
    return server;
  };
  try {
    const { url, servers, sentinels } = kind === 'sentinel' ? await startSentinel(folder, start) : await startCluster(start);
    const flush = (server: ServerProcess) =>
      server.ask(async (redis) => {
        if ((await redis.info('replication')).includes('role:master')) await redis.flushall();
      });
    const clear = async () => void (await Promise.all(servers.map(flush)));
    return { name: `redis ${kind}`, url, servers, sentinels, died: new Promise(() => undefined), clear, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Arguments = (port: number, busPort: number) => readonly string[];
type Start = (name: string, argumentsOf: Arguments) => Promise<ServerProcess>;
interface Started {
  readonly url: string;
  readonly servers: readonly ServerProcess[];
  readonly sentinels: readonly ServerProcess[];
}

async function startSentinel(folder: string, start: Start): Promise<Started> {
  const primary = await start('server-1', () => []);
  const replicaArguments = ['--replicaof', `${HOST} ${primary.port}`];
  const replicas = await Promise.all([2, 3].map((n) => start(`server-${n}`, () => replicaArguments)));
  await Promise.all(replicas.map((replica) => replica.until(async (redis) => /master_link_status:up/.test(await redis.info('replication')))));
  const settings = [
    `sentinel monitor ${PRIMARY_NAME} ${HOST} ${primary.port} 2`,
    `sentinel down-after-milliseconds ${PRIMARY_NAME} ${NODE_TIMEOUT_MS}`,
    `sentinel failover-timeout ${PRIMARY_NAME} 10000`,
  ];
  const sentinels = await Promise.all(
    [1, 2, 3].map((n) => {
      const file = join(folder, `sentinel-${n}.conf`);
      return start(`sentinel-${n}`, (port) => {
        writeFileSync(file, [...settings, `port ${port}`, `bind ${HOST}`, ''].join('\n'), { mode: 0o600 });
        return [file, '--sentinel'];
      });
    }),
  );
  const knowsOthers = async (redis: Redis) => {
    const text = await redis.info('sentinel');
    return /slaves=2,sentinels=3/.test(text);
  };
  await Promise.all(sentinels.map((sentinel) => sentinel.until(knowsOthers)));
  return { url: `redis+sentinel://${addresses(sentinels)}/${PRIMARY_NAME}`, servers: [primary, ...replicas], sentinels };
}

async function startCluster(start: Start): Promise<Started> {
  const settings = (busPort: number) => [
    ...['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', String(NODE_TIMEOUT_MS)],
    ...['--cluster-port', String(busPort), '--cluster-replica-validity-factor', '0'],
  ];
  const names = Array.from({ length: 2 * MASTERS }, (_, i) => `server-${i + 1}`);
  const servers = await Promise.all(names.map((name) => start(name, (_port, busPort) => settings(busPort))));
  const primaries = servers.slice(0, MASTERS);
  const ids = await Promise.all(servers.map((server) => server.ask((redis) => redis.call('CLUSTER', 'MYID')).then(String)));
  await Promise.all(
    primaries.map((server, i) => {
      const [first, last] = [Math.floor((i * SLOTS) / MASTERS), Math.floor(((i + 1) * SLOTS) / MASTERS) - 1];
      return server.ask((redis) => redis.call('CLUSTER', 'ADDSLOTSRANGE', first, last));
    }),
  );
  // Without different epochs, nodes that meet would have to settle their order first.
  await Promise.all(servers.map((server, i) => server.ask((redis) => redis.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1))));
  const [first, ...others] = servers;
  for (const other of others) await first?.ask((redis) => redis.call('CLUSTER', 'MEET', HOST, other.port, other.busPort));
  const knowsAll = async (redis: Redis) => /cluster_known_nodes:6/.test(String(await redis.call('CLUSTER', 'INFO')));
  await Promise.all(servers.map((server) => server.until(knowsAll)));
  await Promise.all(
    servers.slice(MASTERS).map(async (replica, i) => {
      // A replica refuses the command until it has learned the slots of its primary.
      await replica.until((redis) =>
        redis.call('CLUSTER', 'REPLICATE', String(ids[i])).then(
          () => true,
          () => false,
        ),
      );
      await replica.until(async (redis) => /master_link_status:up/.test(await redis.info('replication')));
    }),
  );
  const isReady = async (redis: Redis) => {
    const nodes = String(await redis.call('CLUSTER', 'NODES'));
    return /cluster_state:ok/.test(String(await redis.call('CLUSTER', 'INFO'))) && (nodes.match(/slave/g) ?? []).length === MASTERS;
  };
  await Promise.all(servers.map((server) => server.until(isReady)));
  return { url: `redis+cluster://${addresses(servers)}`, servers, sentinels: [] };
}

const addresses = (servers: readonly RedisServerProcess[]) => servers.map(({ port }) => `${HOST}:${port}`).join(',');

class ServerProcess implements RedisServerProcess {
  readonly name: string;
  readonly port: number;
  readonly busPort: number;
  readonly #folder: string;
  readonly #arguments: readonly string[];
  #child: Child | undefined;

  private constructor(folder: string, name: string, [port = 0, busPort = 0]: readonly number[], argumentsOf: Arguments) {
    this.name = name;
    this.port = port;
    this.busPort = busPort;
    this.#folder = folder;
    this.#arguments = argumentsOf(port, busPort);
  }

  static async start(folder: string, name: string, argumentsOf: Arguments): Promise<ServerProcess> {
    await stopOrphanedServer(folder);
    for (let attempt = 1; ; attempt++) {
      rmSync(folder, { recursive: true, force: true });
      makeFolder(folder, 0o700);
      const server = new ServerProcess(folder, name, await steadyPorts(2), argumentsOf);
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
      port: String(this.port),
      bind: HOST,
      save: '',
      appendonly: 'no',
      'maxmemory-policy': 'noeviction',
      'repl-diskless-sync-delay': '0',
    };
    const common = { dir: data, pidfile: join(this.#folder, 'pid'), daemonize: 'no', 'protected-mode': 'no', ...(isSentinel ? {} : settings) };
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

  async kill(): Promise<void> {
    await this.#child?.stop([]);
  }

  async stop(): Promise<void> {
    await this.#child?.stop(STOP_STEPS);
  }

  connect(): Redis {
    const redis = new Redis({ host: HOST, port: this.port, enableReadyCheck: false, maxRetriesPerRequest: null, retryStrategy: () => 100 });
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

/** Stops the servers of a group that still run after their parent process was killed. */
export async function stopOrphanedGroup(folder: string): Promise<void> {
  const names = [...Array.from({ length: 2 * MASTERS }, (_, i) => `server-${i + 1}`), 'sentinel-1', 'sentinel-2', 'sentinel-3'];
  await Promise.all(names.map((name) => stopOrphanedServer(join(folder, name))));
}

async function stopOrphanedServer(folder: string): Promise<void> {
  const data = join(folder, 'data');
  await stopOrphans({ folder: data, pidFile: join(folder, 'pid'), program: /redis|valkey/, commandLineParts: [data], stop: STOP_STEPS });
}
