import { createHash } from 'node:crypto';
import type { RedisClient } from './connection.ts';

/** Runs a Lua script with its keys and arguments. */
export type Script<Reply> = (redis: RedisClient, keys: readonly string[], args?: readonly (string | number)[]) => Promise<Reply>;

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

/**
 * Returns Lua that sets a local variable to a field of a section of `INFO`, or to `missing`. It searches the field as plain text, because a pattern
 * takes several times as long.
 */
export const infoField = (variable: string, section: string, field: string, missing: string): string => `
local ${variable} = redis.call('INFO', '${section}')
local ${variable}_at = string.find(${variable}, '${field}:', 1, true)
${variable} = ${variable}_at and string.match(${variable}, '%w+', ${variable}_at + ${field.length + 1}) or '${missing}'
`;

/**
 * Lua: sets the local variable `replication_id` to the id of the data set of the server that runs the script. The id changes when the server restarts
 * and when a replica becomes the primary. Then the server may lack the latest writes, and the data of earlier ids may be outdated.
 */
export const REPLICATION_ID = infoField('replication_id', 'replication', 'master_replid', '');
