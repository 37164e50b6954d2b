import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Redis as RedisConnection } from 'ioredis';
import type { Redis as RedisServers } from '#dev/stack/redis.ts';
import { startFailoverRedis } from '#dev/stack/redis-group/failover.ts';
import { startRedisGroup } from '#dev/stack/redis-group/group.ts';
import type { RedisServerProcess } from '#dev/stack/redis-group/server.ts';
import { parseRedisUrl, type RedisTarget } from '#platform/redis/config.ts';
import { connect, FAIL_FAST, PATIENT, type RedisClient } from '#platform/redis/connection.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';

/** Many connections, because each is in danger only when it searches the primary at the moment of the announcement. */
const CONNECTIONS = 40;
const READY_WITHIN_MS = 30_000;

const folder = mkdtempSync(join(tmpdir(), 'coinop-sentinel-'));
let servers: RedisServers;
beforeAll(async () => {
  servers = await startFailoverRedis(join(folder, 'repeated'));
}, 60_000);
afterAll(async () => {
  await servers?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a connection. @param pause delay before a reconnect, ms */
function open(target: RedisTarget, i: number, pause: number): RedisClient {
  const connection = connect(target, { ...(i % 2 === 0 ? FAIL_FAST : PATIENT), connectTimeout: 2_000, retryStrategy: () => pause });
  connection.on('error', () => undefined);
  return connection;
}

test('connections that search the primary while the Sentinels announce a new one connect to the new one', async () => {
  const target = parseRedisUrl(servers.url);
  // Retries without a pause, so that the connections search the primary most of the time.
  const connections = Array.from({ length: CONNECTIONS }, (_, i) => open(target, i, 1));
  const untilAllReady = async () => {
    const end = Date.now() + READY_WITHIN_MS;
    while (Date.now() < end && connections.some(({ status }) => status !== 'ready')) await sleep(100);
    return connections.map(({ status }) => status);
  };
  const allReady = connections.map(() => 'ready');
  try {
    expect(await untilAllReady()).toEqual(allReady);
    for (const empty of [false, true]) {
      await servers.kill();
      await servers.restart({ empty });
      expect(await untilAllReady()).toEqual(allReady);
    }
    expect(await servers.failovers?.()).toBeGreaterThanOrEqual(2);
  } finally {
    for (const connection of connections) connection.disconnect();
  }
}, 180_000);

test('connections move from a primary that hangs to the new one, also when the Sentinels have closed all connections before', async () => {
  const group = await startRedisGroup('sentinel', join(folder, 'silent'));
  const [primary, ...replicas] = group.servers;
  // The connections of a process share the target, and so the connections to the Sentinels.
  const target = parseRedisUrl(group.url);
  const connections = Array.from({ length: CONNECTIONS }, (_, i) => open(target, i, 50));
  try {
    await retryUntilPass(async () => expect(await portsOf(connections)).toEqual([primary?.port]));
    for (const sentinel of group.sentinels) for (const type of ['pubsub', 'normal']) await ask(sentinel, (one) => one.client('KILL', 'TYPE', type));
    process.kill(primary?.pid ?? 0, 'SIGSTOP');
    await retryUntilPass(async () => expect(await primariesOf(replicas)).toHaveLength(1), 30_000);
    const [next] = await primariesOf(replicas);
    await retryUntilPass(async () => expect(await portsOf(connections)).toEqual([next]), 10_000);
    process.kill(primary?.pid ?? 0, 'SIGCONT');
    expect(await portsOf(connections)).toEqual([next]);
  } finally {
    for (const connection of connections) connection.disconnect();
    await group.stop();
  }
}, 120_000);

/** Returns the ports of the servers to which connections lead, without repetition; 0 stands for a server that does not answer. */
async function portsOf(connections: readonly RedisClient[]): Promise<number[]> {
  const ports = await Promise.all(
    connections.map(async (connection) => {
      const reply = connection.config('GET', 'port').catch(() => null);
      const port: unknown = await Promise.race([reply, sleep(500, null)]);
      return Array.isArray(port) ? Number(port[1]) : 0;
    }),
  );
  return [...new Set(ports)];
}

/** Returns the ports of those servers that are primaries. */
async function primariesOf(servers: readonly RedisServerProcess[]): Promise<number[]> {
  const roles = await Promise.all(servers.map((server) => ask(server, (redis) => redis.info('replication'))));
  return servers.filter((_, i) => roles[i]?.includes('role:master')).map(({ port }) => port);
}

async function ask<T>(server: RedisServerProcess, work: (redis: RedisConnection) => Promise<T>): Promise<T> {
  const redis = server.connect();
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}
