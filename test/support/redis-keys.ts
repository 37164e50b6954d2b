import { Cluster } from 'ioredis';
import type { RedisClient } from '#platform/redis/connection.ts';

/** Returns the keys that match a pattern, of all nodes of a cluster. */
export async function findKeys(redis: RedisClient, pattern: string): Promise<string[]> {
  const servers = redis instanceof Cluster ? redis.nodes('master') : [redis];
  return (await Promise.all(servers.map((server) => server.keys(pattern)))).flat();
}

/** Deletes the keys that match a pattern, one by one, because one command of a cluster deletes only keys of one slot. */
export async function deleteKeys(redis: RedisClient, pattern: string): Promise<void> {
  await Promise.all((await findKeys(redis, pattern)).map((key) => redis.unlink(key)));
}
