import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** Runs a Lua script with its keys and arguments. */
export type Script<Reply> = (redis: Redis, keys: readonly string[], args?: readonly (string | number)[]) => Promise<Reply>;

/**
 * Declares a Lua script. The script is called by its hash; its text is sent only when Redis does not know the hash, for example after a restart.
 * `defineCommand` is not used, because defining a command while an automatic pipeline is filling breaks that pipeline.
 * @template Reply type of the script's reply after Redis has converted the reply from Lua; not checked at run time
 */
export function script<Reply>(lua: string): Script<Reply> {
  const hash = createHash('sha1').update(lua).digest('hex');
  return async (redis, keys, args = []) => {
    try {
      return (await redis.evalsha(hash, keys.length, ...keys, ...args)) as Reply;
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return (await redis.eval(lua, keys.length, ...keys, ...args)) as Reply;
    }
  };
}
