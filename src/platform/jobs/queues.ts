import { once } from 'node:events';
import { type JobsOptions, Queue } from 'bullmq';
import { unavailable } from '#lib/errors.ts';
import { exportTrace } from '#platform/observability/tracing/tracing.ts';
import type { RedisClient } from '#platform/redis/connection.ts';
import type { Job } from './job.ts';

/**
 * Retention in Redis of finished jobs (`KEEP_DONE`) and of failed jobs (`KEEP_FAILED`). `age` is the maximum age in seconds, `count` is the maximum
 * number of jobs. Operators see these jobs in Bull Board.
 */
const KEEP_DONE = { age: 60, count: 200 };
const KEEP_FAILED = { age: 7 * 86_400, count: 5_000 };

/** Adds jobs to the queues. Workers take the jobs from the queues and process them. */
export interface Queues {
  readonly all: ReadonlyMap<string, Queue>;
  /**
   * Adds jobs with one round trip per queue.
   * @throws 503 when Redis is not connected within CONNECT_WAIT_MS
   */
  add(jobs: readonly { job: Job; payload: unknown }[]): Promise<void>;
  close(): Promise<void>;
}

/** Returns the key prefix of a queue. The braces are a hash tag: they keep all keys of a queue on one node of a Redis Cluster. */
export function queuePrefix(prefix: string, queue: string): string {
  return `{${prefix}:${queue}}`;
}

/** Opens all queues for adding jobs. */
export function openQueues(connection: RedisClient, prefix: string, names: readonly string[]): Queues {
  const all = new Map(
    names.map((name) => {
      const queue = new Queue(name, { connection, prefix: queuePrefix(prefix, name), skipMetasUpdate: true });
      // This listener does nothing: `add` and the Redis connection report failures already, and without a listener BullMQ would print each failure
      // again.
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
        [...byQueue].map(([name, entries]) => {
          const described = entries.map(({ job, payload }) => ({ name: job.name, data: payload, opts: optionsOf(job, payload) }));
          const [first, ...others] = described;
          // A single job needs no pipeline, whose construction costs more than the command.
          return first && others.length === 0 ? all.get(name)?.add(first.name, first.data, first.opts) : all.get(name)?.addBulk(described);
        }),
      );
    },
    async close() {
      await Promise.all([...all.values()].map((queue) => queue.close()));
    },
  };
}

const optionsOf = (job: Job, payload: unknown): JobsOptions => ({
  ...telemetryOf(job, payload),
  attempts: job.attempts,
  backoff: { type: job.backoff, delay: job.backoffMs },
  removeOnComplete: KEEP_DONE,
  removeOnFail: KEEP_FAILED,
  ...(job.priority ? { priority: job.priority(payload) } : {}),
  ...(job.id ? { deduplication: { id: job.id(payload) } } : {}),
});

/** Returns the trace context that a job carries to the worker; empty when there is none. */
function telemetryOf(job: Job, payload: unknown) {
  const metadata = exportTrace(() => job.requestIds?.(payload));
  return metadata === undefined ? {} : { telemetry: { metadata } };
}

/** Maximum time that `add` waits while the connection is being opened, ms. */
const CONNECT_WAIT_MS = 1_000;

/**
 * Waits until the connection is ready, with a timeout; BullMQ alone would wait forever.
 * @throws 503 when the connection is not ready in time
 */
async function readySoon(connection: RedisClient): Promise<void> {
  try {
    await once(connection, 'ready', { signal: AbortSignal.timeout(CONNECT_WAIT_MS) });
  } catch {
    throw unavailable();
  }
}
