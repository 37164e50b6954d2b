import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { lockFolder, unlockFolder } from '../folder-lock.ts';
import { makeFolder } from '../folders.ts';
import type { StackPart } from '../supervisor.ts';
import { type Arguments, type Certificate, HOST, type RedisServerProcess, ServerProcess, stopOrphanedServer } from './server.ts';

/** Time without a reply after which a node counts as failed, ms. It is short, so that tests of failovers are short. */
const NODE_TIMEOUT_MS = 2_000;
const MASTERS = 3;
const SLOTS = 16_384;
/** Name under which the Sentinels know the primary. */
export const PRIMARY_NAME = 'coinop';

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

/**
 * Starts a primary with two replicas and three Sentinels, or a cluster of three primaries with one replica each.
 * @param folder used by this group only
 * @param certificate given: the servers speak TLS only, among each other too
 */
export async function startRedisGroup(kind: RedisGroupKind, folder: string, certificate?: Certificate): Promise<RedisGroup> {
  makeFolder(folder, 0o700);
  await lockFolder(folder);
  const started: ServerProcess[] = [];
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()));
    unlockFolder(folder);
  };
  const start = async (name: string, argumentsOf: Arguments) => {
    const server = await ServerProcess.start(join(folder, name), name, argumentsOf, certificate);
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
    const scheme = certificate ? 'rediss' : 'redis';
    return { name: `redis ${kind}`, url: `${scheme}+${kind}://${url}`, servers, sentinels, died: new Promise(() => undefined), clear, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Start = (name: string, argumentsOf: Arguments) => Promise<ServerProcess>;
interface Started {
  /** The URL of the group without its scheme. */
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
      return start(`sentinel-${n}`, () => {
        writeFileSync(file, [...settings, `bind ${HOST}`, ''].join('\n'), { mode: 0o600 });
        return [file, '--sentinel'];
      });
    }),
  );
  const knowsOthers = async (redis: Redis) => {
    const text = await redis.info('sentinel');
    return /slaves=2,sentinels=3/.test(text);
  };
  await Promise.all(sentinels.map((sentinel) => sentinel.until(knowsOthers)));
  return { url: `${addresses(sentinels)}/${PRIMARY_NAME}`, servers: [primary, ...replicas], sentinels };
}

async function startCluster(start: Start): Promise<Started> {
  const settings = (busPort: number) => [
    ...['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', String(NODE_TIMEOUT_MS)],
    ...['--cluster-port', String(busPort), '--cluster-replica-validity-factor', '0'],
  ];
  const names = Array.from({ length: 2 * MASTERS }, (_, i) => `server-${i + 1}`);
  const servers = await Promise.all(names.map((name) => start(name, settings)));
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
  return { url: addresses(servers), servers, sentinels: [] };
}

const addresses = (servers: readonly RedisServerProcess[]) => servers.map(({ port }) => `${HOST}:${port}`).join(',');

/** Stops the servers of a group that still run after their parent process was killed. */
export async function stopOrphanedGroup(folder: string): Promise<void> {
  const names = [...Array.from({ length: 2 * MASTERS }, (_, i) => `server-${i + 1}`), 'sentinel-1', 'sentinel-2', 'sentinel-3'];
  await Promise.all(names.map((name) => stopOrphanedServer(join(folder, name))));
}
