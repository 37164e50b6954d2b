import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Redis as RedisServers } from '#dev/stack/redis.ts';
import { startFailoverRedis } from '#dev/stack/redis-failover.ts';
import { parseRedisUrl } from '#platform/redis/config.ts';
import { connect, FAIL_FAST, PATIENT } from '#platform/redis/connection.ts';

/** Many connections, because each is in danger only when it searches the primary at the moment of the announcement. */
const CONNECTIONS = 40;
const READY_WITHIN_MS = 30_000;

const folder = mkdtempSync(join(tmpdir(), 'coinop-sentinel-'));
let servers: RedisServers;
beforeAll(async () => {
  servers = await startFailoverRedis(folder);
}, 60_000);
afterAll(async () => {
  await servers?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('connections that search the primary while the Sentinels announce a new one connect to the new one', async () => {
  const target = parseRedisUrl(servers.url);
  const connections = Array.from({ length: CONNECTIONS }, (_, i) => {
    // Retries without a pause, so that the connections search the primary most of the time.
    const connection = connect(target, { ...(i % 2 === 0 ? FAIL_FAST : PATIENT), connectTimeout: 2_000, retryStrategy: () => 1 });
    connection.on('error', () => undefined);
    return connection;
  });
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
