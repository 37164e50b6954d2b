import { once } from 'node:events';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { unavailable } from '#lib/errors.ts';
import { carryTrace } from '#platform/observability/tracing/tracing.ts';
import type { Job } from './job.ts';

/** Finished jobs are kept this long (ops look at them); failed ones longer. Seconds and counts. */
const KEEP_DONE = { age: 60, count: 200 };
const KEEP_FAILED = { age: 7 * 86_400, count: 5_000 };

/** The producing side of the queues. Nothing here processes a job. */
export interface Queues {
  readonly all: ReadonlyMap<string, Queue>;
  /** Adds jobs, one round trip per queue. Fails at once when Redis is down. */
  add(jobs: readonly { job: Job; payload: unknown }[]): Promise<void>;
  close(): Promise<void>;
}

/** The prefix of a queue's keys; the braces keep one queue's keys on one node of a Redis Cluster. */
export function queuePrefix(prefix: string, queue: string): string {
  return `{${prefix}:${queue}}`;
}

/** Opens all queues for adding. */
export function openQueues(connection: Redis, prefix: string, names: readonly string[]): Queues {
  const all = new Map(
    names.map((name) => {
      const queue = new Queue(name, { connection, prefix: queuePrefix(prefix, name), skipMetasUpdate: true });
      // Told by whoever adds, and by the connection; BullMQ would print it besides.
      queue.on('error', () => undefined);
      return [name, queue];
    }),
  );
  return {
    all,
    async add(jobs) {
      if (connection.status !== 'ready') await readySoon(connection);
      const byQueue = Map.groupBy(jobs, ({ job }) => job.queue);
      await Promise.all(
        [...byQueue].map(([name, entries]) =>
          all.get(name)?.addBulk(
            entries.map(({ job, payload }) => ({
              name: job.name,
              data: payload,
              opts: {
                ...telemetryOf(job, payload),
                attempts: job.attempts,
                backoff: { type: job.backoff, delay: job.backoffMs },
                removeOnComplete: KEEP_DONE,
                removeOnFail: KEEP_FAILED,
                ...(job.id ? { deduplication: { id: job.id(payload) } } : {}),
              },
            })),
          ),
        ),
      );
    },
    async close() {
      await Promise.all([...all.values()].map((queue) => queue.close()));
    },
  };
}

/** The trace that a job belongs to travels with it. */
function telemetryOf(job: Job, payload: unknown) {
  const metadata = carryTrace(() => job.requestIds?.(payload));
  return metadata === undefined ? {} : { telemetry: { metadata } };
}

/** How long an addition waits for a connection that is being made, ms. */
const CONNECT_WAIT_MS = 1_000;

/** BullMQ would wait for ever for a Redis that was never there. @throws 503 when it is not there in time */
async function readySoon(connection: Redis): Promise<void> {
  try {
    await once(connection, 'ready', { signal: AbortSignal.timeout(CONNECT_WAIT_MS) });
  } catch {
    throw unavailable();
  }
}
