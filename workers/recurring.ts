import type { Queue } from 'bullmq';
import { jobs } from '#jobs/index.ts';
import { schedule } from '#jobs/schedule.ts';
import type { App } from '#platform/app.ts';

/** Interval at which a worker registers the recurring jobs again, ms: a Redis that lost its data has lost the schedulers as well. */
const REGISTER_EVERY_MS = 10_000;
/** Maximum schedulers read per queue. */
const MAX_SCHEDULERS = 100;

/** The recurring jobs by queue. */
const recurring: ReadonlyMap<string, readonly { name: string; everyMs: number }[]> = Map.groupBy(
  (Object.keys(schedule) as (keyof typeof schedule)[]).flatMap((key) => {
    const everyMs = schedule[key];
    return everyMs === undefined ? [] : [{ name: jobs[key].name, queue: jobs[key].queue, everyMs }];
  }),
  ({ queue }) => queue,
);

/**
 * Keeps the schedulers of some queues in Redis equal to `jobs/schedule.ts`: registers missing and changed ones, and removes those of former
 * releases, whose jobs no handler processes.
 * @param queues the names of the queues
 * @returns a function that stops it
 */
export function keepRecurringJobs(app: App, queues: readonly string[]): () => void {
  const registerAll = async () => {
    try {
      await Promise.all(queues.map((name) => registerQueue(app.queues.all.get(name))));
    } catch (err) {
      app.log.warn({ err }, 'recurring jobs cannot be registered; the next attempt follows');
    }
  };
  void registerAll();
  const timer = setInterval(registerAll, REGISTER_EVERY_MS).unref();
  app.redis.on('ready', registerAll);
  return () => {
    clearInterval(timer);
    app.redis.off('ready', registerAll);
  };
}

async function registerQueue(queue: Queue | undefined): Promise<void> {
  if (!queue) return;
  const wanted = recurring.get(queue.name) ?? [];
  const registered = await queue.getJobSchedulers(0, MAX_SCHEDULERS - 1);
  const stale = registered.filter(({ key }) => !wanted.some(({ name }) => name === key));
  const changed = wanted.filter(({ name, everyMs }) => !registered.some(({ key, every }) => key === name && every === everyMs));
  await Promise.all([
    ...stale.map(({ key }) => queue.removeJobScheduler(key)),
    // A scheduler only triggers runs; the handler reads from the database what is due.
    ...changed.map(({ name, everyMs }) =>
      queue.upsertJobScheduler(name, { every: everyMs }, { name, data: {}, opts: { removeOnComplete: true, removeOnFail: 100 } }),
    ),
  ]);
}
