import type { Queue } from 'bullmq';
import type { App, GaugeReader, GaugeSample } from '#platform/app.ts';

const STATES = ['waiting', 'active', 'delayed', 'prioritized', 'failed'] as const;

/** Reads the state of every queue from Redis. Every process returns the same values. */
export const queueGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_queue_jobs: 'Jobs by queue and state. Every process returns the same value.',
    coinop_queue_oldest_waiting_seconds: 'Time since the next job of a queue was due; 0 when no job waits. Every process returns the same value.',
    coinop_queue_paused: '1 while a queue is paused, otherwise 0. Every process returns the same value.',
  },
  read: async (app) => (await Promise.all([...app.queues.all.values()].map((queue) => readQueue(app, queue)))).flat(),
};

async function readQueue({ redis, clock }: App, queue: Queue): Promise<GaugeSample[]> {
  // `next` is the id of the job at the end of the list of waiting jobs, because BullMQ takes jobs from the end.
  const [counts, paused, next] = await Promise.all([queue.getJobCounts(...STATES), queue.isPaused(), redis.lindex(queue.toKey('wait'), -1)]);
  const due = next === null ? null : dueOf(await redis.hmget(queue.toKey(next), 'timestamp', 'opts'));
  const labels = { queue: queue.name };
  return [
    ...STATES.map((state) => ({ name: 'coinop_queue_jobs', labels: { ...labels, state }, value: counts[state] ?? 0 })),
    { name: 'coinop_queue_oldest_waiting_seconds', labels, value: due === null ? 0 : Math.max(0, clock.now().getTime() - due) / 1_000 },
    { name: 'coinop_queue_paused', labels, value: Number(paused) },
  ];
}

/**
 * Returns the time at which a job was due, ms since 1970. It is the creation time plus the delay, because recurring jobs are created long before they
 * are due. Returns null when the job no longer exists, because a worker has completed it.
 */
function dueOf([timestamp, opts]: (string | null)[]): number | null {
  if (!timestamp) return null;
  const { delay }: { delay?: number } = JSON.parse(opts ?? '{}');
  return Number(timestamp) + (delay ?? 0);
}
