import { Redis, type RedisOptions } from 'ioredis';
import type { Config } from './config.ts';
import type { Logger } from './log.ts';
import { countReconnect, observeCommand } from './metrics/measure.ts';

/** Reconnects fast and for ever, with jitter so that a fleet does not come back in step. */
const retryStrategy = (tries: number) => Math.min(50 * 2 ** Math.min(tries, 5), 1_000) * (0.5 + Math.random());

/** For commands of a request: a Redis that is down or slow is an error soon (`commandTimeout` is the caller's), never a hang. */
export const FAIL_FAST: RedisOptions = { enableOfflineQueue: false, maxRetriesPerRequest: 0, enableAutoPipelining: true };

/** For connections that subscribe or block: they wait for Redis as long as it takes. */
export const PATIENT: RedisOptions = { maxRetriesPerRequest: null };

/** A connection whose commands are timed: none of them blocks. */
class TimedRedis extends Redis {
  override sendCommand(...[command, stream]: Parameters<Redis['sendCommand']>): unknown {
    observeCommand(command.name, command.promise);
    return super.sendCommand(command, stream);
  }
}

/** Opens a connection; the caller closes it. */
export function openRedis(config: Config, log: Logger, options: RedisOptions): Redis {
  const Connection = options.commandTimeout === undefined ? Redis : TimedRedis;
  const redis = new Connection(config.redis.url, { retryStrategy, connectTimeout: 2_000, ...options });
  redis.on('reconnecting', countReconnect);
  let down = false;
  redis.on('error', (error) => {
    if (!down) log.warn({ err: error }, 'redis is not reachable');
    down = true;
  });
  redis.on('ready', () => {
    if (down) log.info('redis is back');
    down = false;
  });
  return redis;
}

/** Waits for a connection, through all the failures on the way. */
export async function untilReady(redis: Redis): Promise<void> {
  if (redis.status !== 'ready') await new Promise<void>((resolve) => redis.once('ready', resolve));
}
