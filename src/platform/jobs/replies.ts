import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { unavailable } from '#lib/errors.ts';
import { traceAsker } from '#platform/observability/tracing/tracing.ts';

/** What a worker answers to a waiting request. */
export interface Answer {
  id: string;
  outcome: unknown;
}

/** The asking side: one channel per process, a map of waiters, a timeout. */
export interface Replies {
  /** Names this process's channel; travels with the job. */
  readonly channel: string;
  /**
   * Waits for the outcome of `id`.
   * @throws 503 when none came in time; the work may still be done, and asking again finds it
   */
  wait(id: string, timeoutMs: number): Promise<unknown>;
  /** Gives up waiting for one id, because the asking itself failed. */
  reject(id: string, error: Error): void;
  close(): void;
}

/** Opens this process's reply channel on a connection of its own. */
export async function openReplies(subscriber: Redis, prefix: string): Promise<Replies> {
  const channel = `${prefix}:reply:${randomUUID()}`;
  const waiters = new Map<string, { resolve: (outcome: unknown) => void; reject: (error: Error) => void; timer: NodeJS.Timeout }>();
  const settle = (id: string) => {
    const waiter = waiters.get(id);
    if (waiter) {
      clearTimeout(waiter.timer);
      waiters.delete(id);
    }
    return waiter;
  };
  subscriber.on('message', (_channel, text) => {
    const answers: Answer[] = JSON.parse(text);
    for (const answer of answers) settle(answer.id)?.resolve(answer.outcome);
  });
  // Not awaited: ioredis subscribes when Redis is reachable, and again after each reconnect.
  subscriber.subscribe(channel).catch(() => undefined);
  return {
    channel,
    wait: (id, timeoutMs) =>
      new Promise((resolve, reject) => {
        traceAsker(id);
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

/** The answering side: publishes what workers found out, one message per asking process. */
export async function answer(redis: Redis, byChannel: ReadonlyMap<string, readonly Answer[]>): Promise<void> {
  const pipeline = redis.pipeline();
  for (const [channel, answers] of byChannel) pipeline.publish(channel, JSON.stringify(answers));
  await pipeline.exec();
}
