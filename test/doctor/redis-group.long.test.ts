import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { inspectConfig } from '#config';
import { openContext } from '#context';
import { type RedisGroup, startRedisGroup } from '#dev/stack/redis-group/group.ts';
import { redis as check } from '#doctor/checks/redis.ts';
import { examine } from '#doctor/examine.ts';
import { openLog } from '#platform/observability/log.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-doctor-redis-'));
let cluster: RedisGroup;
let sentinel: RedisGroup;
beforeAll(async () => {
  [cluster, sentinel] = await Promise.all([
    startRedisGroup('cluster', join(folder, 'cluster')),
    startRedisGroup('sentinel', join(folder, 'sentinel')),
  ]);
}, 60_000);
afterAll(async () => {
  await Promise.all([cluster?.stop(), sentinel?.stop()]);
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

/** Returns the findings about a REDIS_URL. */
async function findings(url: string): Promise<string[]> {
  const { config } = inspectConfig({ REDIS_URL: url });
  const app = await openContext(config, 'test-doctor', { log: openLog({ ...config, logLevel: 'silent' }, 'test-doctor') });
  try {
    const results = await examine(app, 'api', { checks: [check] });
    return results.filter((one) => one.check === 'redis').map(({ state, what }) => `${state}: ${what}`);
  } finally {
    await app.close();
  }
}

const NO_DISK = 'warning: Redis stores nothing on disk';

test('a cluster and a primary with Sentinels have only findings about their settings', async () => {
  expect(await findings(cluster.url)).toEqual([NO_DISK]);
  expect(await findings(sentinel.url)).toEqual([NO_DISK, expect.stringContaining('warning: min-replicas-to-write is 0')]);
}, 30_000);

test.each([
  [
    'one node of a cluster as a single server',
    () => `redis://127.0.0.1:${cluster.servers[0]?.port}`,
    'wrong: REDIS_URL leads to one node of a cluster',
  ],
  ['a replica as a single server', () => `redis://127.0.0.1:${sentinel.servers[1]?.port}`, 'wrong: REDIS_URL leads to a replica'],
  ['a single server as a cluster', () => `redis+cluster://127.0.0.1:${sentinel.servers[0]?.port}`, 'cluster support disabled'],
  ['a server as a Sentinel', () => `redis+sentinel://127.0.0.1:${sentinel.servers[0]?.port}/coinop`, 'wrong: '],
  ['Sentinels with another name of the primary', () => sentinel.url.replace(/\/\w+$/, '/another'), 'wrong: '],
  ['Sentinels that do not answer', () => 'redis+sentinel://127.0.0.1:1/coinop', 'no Sentinel names the primary'],
  ['a cluster that does not answer', () => 'redis+cluster://127.0.0.1:1', 'no node of the cluster answers'],
])(
  'REDIS_URL that names %s is found',
  async (_fault, url, sentence) => {
    expect((await findings(url())).join('\n')).toContain(sentence);
  },
  30_000,
);

test('a primary without a replica, and slots without a server, are found', async () => {
  const [primary, , , replica] = cluster.servers;
  await replica?.kill();
  await retryUntilPass(async () =>
    expect(await findings(cluster.url)).toContain('warning: a primary of Redis has no replica, so nothing replaces it'),
  );
  await primary?.kill();
  await retryUntilPass(async () => expect((await findings(cluster.url)).join()).toContain('wrong: '));
}, 60_000);
