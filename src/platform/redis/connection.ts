import { Redis, type RedisOptions } from 'ioredis';
import type { Config } from '#config';
import type { Logger } from '#platform/observability/log.ts';
import { countCommandFailure, countReconnect, observeCommand } from '#platform/observability/metrics/metrics.ts';

/** Reconnects fast and for ever, with jitter so that a fleet does not come back in step. */
const retryStrategy = (tries: number) => Math.min(50 * 2 ** Math.min(tries, 5), 1_000) * (0.5 + Math.random());

/** For commands of a request: a Redis that is down or slow is an error soon (`commandTimeout` is the caller's), never a hang. */
export const FAIL_FAST: RedisOptions = { enableOfflineQueue: false, maxRetriesPerRequest: 0, enableAutoPipelining: true };

/** For connections that subscribe or block: they wait for Redis as long as it takes. */
export const PATIENT: RedisOptions = { maxRetriesPerRequest: null };

type SendCommand = Redis['sendCommand'];

/**
 * A connection whose commands are measured, and given up when they take too long: none of them blocks. One timer looks after all of them;
 * ioredis would make one for each, which costs more than most commands.
 */
class TimedRedis extends Redis {
  readonly #timeoutMs: number;
  /** What is not answered yet, oldest first, and when it was sent. */
  readonly #open = new Map<Parameters<SendCommand>[0], number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(url: string, { commandTimeout, ...options }: RedisOptions & { commandTimeout: number }) {
    super(url, options);
    this.#timeoutMs = commandTimeout;
  }

  override sendCommand(...[command, stream]: Parameters<SendCommand>): unknown {
    const sent = performance.now();
    this.#open.set(command, sent);
    this.#timer ??= this.#lookIn(this.#timeoutMs);
    command.promise.then(
      () => {
        this.#open.delete(command);
        observeCommand(command.name, sent);
      },
      (error: unknown) => {
        this.#open.delete(command);
        countCommandFailure(error);
      },
    );
    return super.sendCommand(command, stream);
  }

  #lookIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = null;
      for (const [command, sent] of this.#open) {
        const left = sent + this.#timeoutMs - performance.now();
        if (left > 0) {
          this.#timer = this.#lookIn(left);
          break;
        }
        this.#open.delete(command);
        command.reject(new Error('Command timed out'));
      }
    }, ms).unref();
  }
}

/** Opens a connection; the caller closes it. */
export function openRedis(config: Config, log: Logger, options: RedisOptions): Redis {
  const { commandTimeout, ...rest } = options;
  const all = { retryStrategy, connectTimeout: 2_000, ...rest };
  const redis = commandTimeout === undefined ? new Redis(config.redis.url, all) : new TimedRedis(config.redis.url, { ...all, commandTimeout });
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
