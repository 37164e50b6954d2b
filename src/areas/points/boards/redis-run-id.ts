import type { Redis } from 'ioredis';

const lives = new WeakMap<Redis, Promise<string>>();

/**
 * Which life of Redis a connection talks to: another one after every restart and failover, also when an older dump was loaded.
 * Asked once per connection; a board that was completed in another life is not complete.
 */
export function lifeOf(redis: Redis): Promise<string> {
  const known = lives.get(redis);
  if (known) return known;
  const forget = () => void lives.delete(redis);
  const life = redis.info('server').then((text) => /run_id:(\w+)/.exec(text)?.[1] ?? 'unknown');
  lives.set(redis, life);
  redis.once('close', forget);
  life.catch(forget);
  return life;
}
