import { randomUUID } from 'node:crypto';
import { unavailable } from '#lib/errors.ts';
import { registerRequestTrace } from '#platform/observability/tracing/tracing.ts';
import type { RedisClient } from '#platform/redis/connection.ts';

/** The outcome of one request. A worker sends it to the API process that received the request. */
export interface Answer {
  readonly id: string;
  /** One line of text. The text is not encoded, so that its reader need not decode it. */
  readonly outcome: string;
}

/**
 * The requests of this process that wait for the outcomes of their jobs. A process has one reply channel; each waiting request has an id and a
 * timeout.
 */
export interface Replies {
  /** Name of the reply channel of this process. A job carries this name to the worker. */
  readonly channel: string;
  /**
   * Waits for the outcome of the request `id`.
   * @throws 503 after the timeout. The worker may still do the work; if the client sends the same request again, it receives the outcome of that work
   */
  wait(id: string, timeoutMs: number): Promise<string>;
  /** Ends the wait of one request with an error. The caller uses it when the job could not be enqueued. */
  reject(id: string, error: Error): void;
  close(): void;
}

/**
 * Opens the reply channel of this process.
 * @param subscriber a Redis connection that is used only for this channel
 */
export async function openReplies(subscriber: RedisClient, prefix: string): Promise<Replies> {
  const channel = `${prefix}:reply:${randomUUID()}`;
  const waiters = new Map<string, { resolve: (outcome: string) => void; reject: (error: Error) => void; timer: NodeJS.Timeout }>();
  const settle = (id: string) => {
    const waiter = waiters.get(id);
    if (waiter) {
      clearTimeout(waiter.timer);
      waiters.delete(id);
    }
    return waiter;
  };
  subscriber.on('message', (_channel, text) => {
    for (const line of text.split('\n')) {
      const end = line.indexOf(' ');
      settle(line.slice(0, end))?.resolve(line.slice(end + 1));
    }
  });
  // The subscription is not awaited: ioredis subscribes when Redis is reachable, and again after each reconnect.
  subscriber.subscribe(channel).catch(() => undefined);
  return {
    channel,
    wait: (id, timeoutMs) =>
      new Promise((resolve, reject) => {
        registerRequestTrace(id);
        const timer = setTimeout(() => {
          waiters.delete(id);
          reject(unavailable('the outcome is not known yet, send the same request again'));
        }, timeoutMs);
        waiters.set(id, { resolve, reject, timer });
      }),
    reject: (id, error) => settle(id)?.reject(error),
    close: () => {
      for (const id of [...waiters.keys()]) settle(id)?.reject(unavailable('the service is stopping'));
    },
  };
}

/** Publishes outcomes to the API processes that wait for them, one message per process. */
export async function answer(redis: RedisClient, byChannel: ReadonlyMap<string, readonly Answer[]>): Promise<void> {
  const pipeline = redis.pipeline();
  for (const [channel, answers] of byChannel) pipeline.publish(channel, answers.map(({ id, outcome }) => `${id} ${outcome}`).join('\n'));
  await pipeline.exec();
}
