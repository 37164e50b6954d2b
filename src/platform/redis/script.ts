import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** Runs a Lua script: all of its keys first, then its arguments. */
export type Script<Reply> = (redis: Redis, keys: readonly string[], args?: readonly (string | number)[]) => Promise<Reply>;

/**
 * Declares a Lua script. It is called by its hash, and sent where Redis does not know it: after a restart, say.
 * Not `defineCommand`: a command that is defined while an automatic pipeline is being filled breaks that pipeline.
 * @template Reply what the script returns, as Redis converts it: the type is a promise of the script's author
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
