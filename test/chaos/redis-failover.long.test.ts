import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import pg from 'pg';
import { type RedisGroup, type RedisGroupKind, startRedisGroup } from '#dev/stack/redis-group/group.ts';
import type { RedisServerProcess } from '#dev/stack/redis-group/server.ts';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { type PatientPlayer, patientPlayer, type Receipt, retryUntilPass } from '#test/support/areas/player.ts';
import { contradictions } from '#test/support/invariants.ts';
import { send, signIn } from '#test/support/wallet.ts';

const GAME = 'failover-game';
/** Maximum time without any confirmed score during a failover, ms. */
const MAX_OUTAGE_MS = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'coinop-failover-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each<RedisGroupKind>(['sentinel', 'cluster'])('Redis %s', (kind) => {
  let group: RedisGroup;
  let system: System;
  let players: PatientPlayer[];
  const confirmed: Receipt[] = [];
  /** Cookies of the sessions whose logout was confirmed. */
  const loggedOut: string[] = [];

  beforeAll(async () => {
    group = await startRedisGroup(kind, join(folder, kind));
    system = await startSystem({ apis: 2, workers: 2, env: { REDIS_URL: group.url } });
    await registerGame(system.urls[0] ?? '', SYSTEM_ADMIN_TOKEN, GAME);
    players = await Promise.all(Array.from({ length: 8 }, () => patientPlayer(system.urls)));
  }, 90_000);
  afterAll(async () => {
    await system?.stop();
    await group?.stop();
  }, 60_000);

  const urlAt = (turn: number) => ({ url: system.urls[turn % system.urls.length] ?? '' });

  /** Signs wallets in and out until `isOver` returns true. */
  async function visit(isOver: () => boolean): Promise<void> {
    for (let turn = 0; !isOver(); turn++) {
      try {
        const { cookie } = await signIn(urlAt(turn));
        const headers = { Cookie: cookie };
        // Both processes read the session, so Redis holds a copy.
        if ((await send(urlAt(turn), '/me', { headers })).status !== 200) continue;
        const out = await send(urlAt(turn + 1), '/auth/logout', { method: 'POST', headers, signal: AbortSignal.timeout(20_000) });
        if (out.status === 200) loggedOut.push(cookie);
      } catch {
        await sleep(50);
      }
    }
  }

  /** Sends load before, during and after a fault. @returns the longest time between two confirmed scores, ms */
  async function underLoad(fault: () => Promise<void>): Promise<number> {
    let over = false;
    let last = performance.now();
    let longest = 0;
    const scoring = players.map(async (player) => {
      while (!over) {
        confirmed.push(await player.score(GAME, randomInt(10_001)));
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      }
    });
    const visiting = [visit(() => over), visit(() => over)];
    try {
      await sleep(1_500);
      await fault();
      await sleep(4_000);
    } finally {
      over = true;
      await Promise.all([...scoring, ...visiting]);
    }
    return longest;
  }

  async function expectNothingLost(): Promise<void> {
    const db = new pg.Client({ connectionString: system.postgres.url });
    await db.connect();
    try {
      const { rows } = await db.query<{ id: string; points: number; normalized: number }>('select id, points, normalized from scores');
      expect(rows.length).toBe(confirmed.length);
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const receipt of confirmed)
        expect(byId.get(receipt.scoreId)).toMatchObject({ points: receipt.pointsAwarded, normalized: receipt.normalizedScore });
    } finally {
      await db.end();
    }
    const stores = { databaseUrl: system.postgres.url, redisUrl: group.url, redisPrefix: 'coinop' };
    await retryUntilPass(async () => expect(await contradictions(stores)).toEqual([]), 30_000);
    expect(loggedOut.length).toBeGreaterThan(0);
    const statuses = await Promise.all(loggedOut.map((cookie, i) => send(urlAt(i), '/me', { headers: { Cookie: cookie } })));
    expect([...new Set(statuses.map(({ status }) => status))]).toEqual([401]);
    for (const player of players) {
      expect((await player.request('/me')).status).toBe(200);
      expect([...player.statuses.keys()].filter((status) => ![0, 200, 201, 503].includes(status))).toEqual([]);
    }
  }

  test('a killed primary is replaced: nothing confirmed is lost, nothing is doubled, no ended session is valid again', async () => {
    const primary = await primaryOf(group);
    const outage = await underLoad(async () => {
      await primary.kill();
      await replaced(kind, group, primary);
      await primary.start();
    });
    expect(outage).toBeLessThan(MAX_OUTAGE_MS);
    await expectNothingLost();
  }, 90_000);

  test('a primary that hangs is replaced, and what it confirms after its return does not count', async () => {
    const primary = await primaryOf(group);
    const outage = await underLoad(async () => {
      process.kill(primary.pid, 'SIGSTOP');
      await replaced(kind, group, primary);
      process.kill(primary.pid, 'SIGCONT');
    });
    expect(outage).toBeLessThan(MAX_OUTAGE_MS);
    await expectNothingLost();
  }, 90_000);

  if (kind === 'cluster') {
    test('slots move to another node while they are used: nothing confirmed is lost', async () => {
      const keys = ['{coinop:scores}', `{coinop:board:game:${GAME}}`, '{coinop:events}'];
      const outage = await underLoad(async () => {
        for (const key of keys) await moveSlot(group.servers, key);
      });
      expect(outage).toBeLessThan(MAX_OUTAGE_MS);
      await expectNothingLost();
    }, 90_000);
  }
});

const isPrimary = (server: RedisServerProcess) => ask(server, async (redis) => (await redis.info('replication')).includes('role:master'));

/** Returns a server that is a primary. */
async function primaryOf({ servers }: RedisGroup): Promise<RedisServerProcess> {
  for (const server of servers) if (await isPrimary(server)) return server;
  throw new Error('no server is a primary');
}

/** Waits until another server is a primary instead of one that failed. */
async function replaced(kind: RedisGroupKind, { servers }: RedisGroup, failed: RedisServerProcess): Promise<void> {
  const others = servers.filter((server) => server !== failed);
  await retryUntilPass(async () => {
    const primaries = (await Promise.all(others.map(isPrimary))).filter(Boolean);
    expect(primaries).toHaveLength(kind === 'cluster' ? 3 : 1);
  }, 20_000);
}

/** Moves the slot of a key from its node to another primary, with its keys, as `redis-cli --cluster reshard` does. */
async function moveSlot(servers: readonly RedisServerProcess[], key: string): Promise<void> {
  const slot = Number(await ask(servers[1], (redis) => redis.call('CLUSTER', 'KEYSLOT', key)));
  const nodes = await Promise.all(
    servers.map(async (server) => {
      const own = await ask(server, async (redis) => String(await redis.call('CLUSTER', 'NODES'))).catch(() => '');
      const line = own.split('\n').find((one) => one.includes('myself')) ?? '';
      const ranges = line
        .split(' ')
        .slice(8)
        .map((range) => range.split('-').map(Number));
      const hasSlot = ranges.some(([first = -1, last = first]) => first <= slot && slot <= last);
      return { server, id: line.split(' ')[0] ?? '', isPrimary: line.includes('master'), hasSlot };
    }),
  );
  const source = nodes.find(({ isPrimary, hasSlot }) => isPrimary && hasSlot);
  const target = nodes.find((node) => node.isPrimary && !node.hasSlot);
  if (!source || !target) throw new Error(`the nodes do not say who has the slot ${slot}`);
  await ask(target.server, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id));
  await ask(source.server, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id));
  await ask(source.server, async (redis) => {
    for (;;) {
      const keys = await redis.call('CLUSTER', 'GETKEYSINSLOT', slot, 50);
      if (!Array.isArray(keys) || keys.length === 0) return;
      await redis.call('MIGRATE', '127.0.0.1', target.server.port, '', 0, 5_000, 'KEYS', ...keys.map(String));
    }
  });
  for (const { server } of [target, source]) await ask(server, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id));
}

async function ask<T>(server: RedisServerProcess | undefined, work: (redis: Redis) => Promise<T>): Promise<T> {
  if (!server) throw new Error('there is no such server');
  const redis = server.connect();
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}
