import type { Queue } from 'bullmq';
import type { App } from '#platform/app.ts';
import type { Reading, Sample } from './gauge-reader.ts';

const STATES = ['waiting', 'active', 'delayed', 'prioritized', 'failed'] as const;

/** The queues. */
export const queues: Reading = {
  keepMs: 5_000,
  gauges: {
    coinop_queue_jobs: 'Jobs by queue and state, the same from every process.',
    coinop_queue_oldest_waiting_seconds: 'How long the job that is next has been due, by queue; 0 where none waits. The same from every process.',
    coinop_queue_paused: 'Whether a queue is paused. The same from every process.',
  },
  read: async (app) => (await Promise.all([...app.queues.all.values()].map((queue) => readQueue(app, queue)))).flat(),
};

async function readQueue({ redis, clock }: App, queue: Queue): Promise<Sample[]> {
  // The next one is taken from the end of the list.
  const [counts, paused, next] = await Promise.all([queue.getJobCounts(...STATES), queue.isPaused(), redis.lindex(queue.toKey('wait'), -1)]);
  const due = next === null ? null : dueOf(await redis.hmget(queue.toKey(next), 'timestamp', 'opts'));
  const labels = { queue: queue.name };
  return [
    ...STATES.map((state) => ({ name: 'coinop_queue_jobs', labels: { ...labels, state }, value: counts[state] ?? 0 })),
    { name: 'coinop_queue_oldest_waiting_seconds', labels, value: due === null ? 0 : Math.max(0, clock.now().getTime() - due) / 1_000 },
    { name: 'coinop_queue_paused', labels, value: Number(paused) },
  ];
}

/** When a job was due, ms since 1970; null where it has just been taken. Recurring ones are made long before. */
function dueOf([timestamp, opts]: (string | null)[]): number | null {
  if (!timestamp) return null;
  const { delay }: { delay?: number } = JSON.parse(opts ?? '{}');
  return Number(timestamp) + (delay ?? 0);
}
