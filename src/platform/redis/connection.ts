import { Redis, type RedisOptions } from 'ioredis';
import type { Config } from '#config';
import type { Logger } from '#platform/observability/log.ts';
import { countCommandFailure, countReconnect, observeCommand } from '#platform/observability/metrics/metrics.ts';

/**
 * Returns the delay before a reconnect, ms. There is no maximum number of reconnects. The jitter keeps many processes from reconnecting at the same
 * moment.
 */
const retryStrategy = (tries: number) => Math.min(50 * 2 ** Math.min(tries, 5), 1_000) * (0.5 + Math.random());

/** Options for a connection that serves requests: while Redis is down or slow, a command fails soon. The caller also sets `commandTimeout`. */
export const FAIL_FAST: RedisOptions = { enableOfflineQueue: false, maxRetriesPerRequest: 0, enableAutoPipelining: true };

/** Options for a connection that subscribes or sends blocking commands: its commands wait for Redis without a time limit. */
export const PATIENT: RedisOptions = { maxRetriesPerRequest: null };

type SendCommand = Redis['sendCommand'];

/**
 * A connection that measures its commands, and rejects a command that gets no response within the timeout. Precondition: the connection sends no
 * blocking command. One timer serves all commands, because a timer per command, as in ioredis, costs more than most commands.
 */
class TimedRedis extends Redis {
  readonly #timeoutMs: number;
  /** In-flight commands, oldest first, each with the time when it was sent. */
  readonly #pending = new Map<Parameters<SendCommand>[0], number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(url: string, { commandTimeout, ...options }: RedisOptions & { commandTimeout: number }) {
    super(url, options);
    this.#timeoutMs = commandTimeout;
  }

  override sendCommand(...[command, stream]: Parameters<SendCommand>): unknown {
    const sent = performance.now();
    this.#pending.set(command, sent);
    this.#timer ??= this.#startTimer(this.#timeoutMs);
    command.promise.then(
      () => {
        this.#pending.delete(command);
        observeCommand(command.name, sent);
      },
      (error: unknown) => {
        this.#pending.delete(command);
        countCommandFailure(error);
      },
    );
    return super.sendCommand(command, stream);
  }

  #startTimer(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = null;
      for (const [command, sent] of this.#pending) {
        const left = sent + this.#timeoutMs - performance.now();
        if (left > 0) {
          this.#timer = this.#startTimer(left);
          break;
        }
        this.#pending.delete(command);
        command.reject(new Error('Command timed out'));
      }
    }, ms).unref();
  }
}

/** Opens a connection. The caller closes it. */
export function openRedis(config: Config, log: Logger, options: RedisOptions): Redis {
  const { commandTimeout, ...rest } = options;
  const all = { retryStrategy, connectTimeout: 2_000, ...rest };
  const redis = commandTimeout === undefined ? new Redis(config.redis.url, all) : new TimedRedis(config.redis.url, { ...all, commandTimeout });
  redis.on('reconnecting', countReconnect);
  let down = false;
  redis.on('error', (error) => {
    if (!down) log.warn({ err: error }, 'Redis is unreachable; the connection is retried');
    down = true;
  });
  redis.on('ready', () => {
    if (down) log.info('Redis is reachable again');
    down = false;
  });
  return redis;
}

/** Waits until a connection is ready. Failed attempts to connect do not end the wait. */
export async function untilReady(redis: Redis): Promise<void> {
  if (redis.status !== 'ready') await new Promise<void>((resolve) => redis.once('ready', resolve));
}
