import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RedisGroup, type RedisGroupKind, startRedisGroup } from '#dev/stack/redis-group/group.ts';
import { parseRedisUrl } from '#platform/redis/config.ts';
import { connect, PATIENT, type RedisClient } from '#platform/redis/connection.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { createCertificate } from '#test/support/http/tls-site.ts';

const CONNECTIONS = 4;

const folder = mkdtempSync(join(tmpdir(), 'coinop-redis-tls-'));
const certificate = createCertificate();
const trusted = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...trusted, certificate.cert]));
afterAll(() => {
  setDefaultCACertificates(trusted);
  rmSync(folder, { recursive: true, force: true });
});

function openAll(group: RedisGroup): RedisClient[] {
  const target = parseRedisUrl(group.url);
  return Array.from({ length: CONNECTIONS }, () => {
    const connection = connect(target, { ...PATIENT, connectTimeout: 2_000, retryStrategy: () => 50 });
    connection.on('error', () => undefined);
    return connection;
  });
}

test.each<RedisGroupKind>(['sentinel', 'cluster'])(
  'with TLS, connections find the servers of a %s group, and the server that replaces one',
  async (kind) => {
    const group = await startRedisGroup(kind, join(folder, kind), certificate);
    const connections = openAll(group);
    const writeAll = async (value: string) => {
      const keys = connections.map((_, i) => `key-${i}`);
      await Promise.all(connections.map((connection, i) => connection.set(keys[i] ?? '', value)));
      return await Promise.all(keys.map((key) => connections[0]?.get(key)));
    };
    try {
      expect(await writeAll('before')).toEqual(connections.map(() => 'before'));
      await group.servers[0]?.kill();
      await retryUntilPass(async () => expect(await writeAll('after')).toEqual(connections.map(() => 'after')), 30_000);
    } finally {
      for (const connection of connections) connection.disconnect();
      await group.stop();
    }
  },
  120_000,
);

test('without trust in the certificate, no connection is opened', async () => {
  const group = await startRedisGroup('sentinel', join(folder, 'strange'), certificate);
  setDefaultCACertificates(trusted);
  const connections = openAll(group);
  const [connection] = connections;
  try {
    const failed = new Promise<Error>((resolve) => connection?.once('error', resolve));
    expect((await failed).message).toBe('no Sentinel names the primary');
    expect(connection?.status).not.toBe('ready');
  } finally {
    for (const one of connections) one.disconnect();
    setDefaultCACertificates([...trusted, certificate.cert]);
    await group.stop();
  }
}, 60_000);
