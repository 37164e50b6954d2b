import { once } from 'node:events';
import { Cluster, type Redis } from 'ioredis';
import { type Check, type Finding, ok, reasonOf, warning, wrong } from '#doctor/check.ts';
import type { RedisClient } from '#platform/redis/connection.ts';

const MIN_VERSION = [6, 2] as const;
const SLOTS = 16_384;

/** Checks Redis: its version, whether it accepts writes, that it never evicts jobs, that it stores them on disk, and that it has replicas to fail over to. */
export const redis: Check = {
  name: 'redis',
  settings: ['REDIS_URL'],
  remedy: 'Start Redis, or correct REDIS_URL.',
  async run({ redis, config }) {
    await untilReady(redis);
    const primaries = redis instanceof Cluster ? redis.nodes('master') : [redis];
    const findings = (await Promise.all(primaries.map((primary) => examineServer(primary, config.redis.target.kind)))).flat();
    if (redis instanceof Cluster) findings.push(...(await examineCluster(redis)));
    // Several nodes of a cluster may have the same fault.
    const different = [...new Map(findings.map((finding) => [finding.what, finding])).values()];
    return different.length > 0 ? different : [ok('Redis never evicts jobs and stores them on disk')];
  },
};

/** Waits until the connection is ready. @throws the error of the connection, for a cluster with the reason of the last node */
async function untilReady(redis: RedisClient): Promise<void> {
  if (redis.status === 'ready') return;
  try {
    // `once` rejects with the error of the connection when the connection fails.
    await once(redis, 'ready');
  } catch (error) {
    if (!(Error.isError(error) && 'lastNodeError' in error)) throw error;
    throw new Error(`no node of the cluster answers: ${reasonOf(error.lastNodeError)}`);
  }
}

async function examineServer(redis: Redis, kind: 'server' | 'sentinel' | 'cluster'): Promise<Finding[]> {
  const text = await redis.info();
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1] ?? '';
  const findings: Finding[] = [];
  const version = field('redis_version');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    findings.push(wrong(`Redis has the version ${version}`, `Use Redis ${MIN_VERSION.join('.')} or newer.`));
  }
  const policy = field('maxmemory_policy');
  if (policy !== 'noeviction')
    findings.push(wrong(`maxmemory-policy is ${policy}, so Redis deletes jobs when its memory is full`, 'Set maxmemory-policy to noeviction.'));
  if (kind === 'server' && field('cluster_enabled') === '1')
    findings.push(wrong('REDIS_URL leads to one node of a cluster', 'List the nodes in REDIS_URL, such as redis+cluster://host:6379,host:6379.'));
  if (field('role') === 'slave') findings.push(wrong('REDIS_URL leads to a replica, which refuses writes', 'Set REDIS_URL to the primary.'));
  if (field('aof_last_write_status') === 'err' || field('rdb_last_bgsave_status') === 'err') {
    findings.push(wrong('Redis cannot write to its disk, so it may refuse writes', 'Free disk space, and check the log of Redis.'));
  }
  if (field('aof_enabled') !== '1' && !(await hasSnapshots(redis))) {
    const remedy = 'Set appendonly to yes, so that jobs and boards need not be rebuilt from PostgreSQL after a restart of Redis.';
    findings.push(warning('Redis stores nothing on disk', remedy));
  }
  if (kind !== 'server') findings.push(...(await examineReplicas(redis, kind, Number(field('connected_slaves')))));
  return findings;
}

/** Checks that a primary has a replica, and that a primary which the others cannot reach stops to confirm writes. */
async function examineReplicas(redis: Redis, kind: 'sentinel' | 'cluster', replicas: number): Promise<Finding[]> {
  if (replicas === 0) return [warning('a primary of Redis has no replica, so nothing replaces it', 'Start a replica of each primary.')];
  // Nodes of a cluster stop on their own when they do not reach the majority.
  if (kind === 'cluster' || (await setting(redis, 'min-replicas-to-write')) !== '0') return [];
  const remedy = 'Set min-replicas-to-write to 1 and min-replicas-max-lag to 10 on every server.';
  return [warning('min-replicas-to-write is 0, so a primary that is cut off confirms writes that the failover discards', remedy)];
}

async function examineCluster(redis: Cluster): Promise<Finding[]> {
  const text = String(await redis.cluster('INFO'));
  if (text.includes('cluster_state:ok') && text.includes(`cluster_slots_assigned:${SLOTS}`)) return [];
  return [wrong('the cluster of Redis does not serve all slots', 'Repair the cluster: redis-cli --cluster check lists what is wrong.')];
}

/** Returns whether Redis writes snapshots. When the server refuses the command, as hosted ones do, the provider is responsible. */
const hasSnapshots = async (redis: Redis): Promise<boolean> => (await setting(redis, 'save')) !== '';

/** Returns a setting of the server; null when the server refuses the command. */
async function setting(redis: Redis, name: string): Promise<string | null> {
  const found: unknown = await redis.config('GET', name).catch(() => null);
  return Array.isArray(found) && typeof found[1] === 'string' ? found[1] : null;
}
