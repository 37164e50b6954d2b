import type { Queue } from 'bullmq';
import { jobs } from '#jobs/index.ts';
import { schedule } from '#jobs/schedule.ts';
import type { App } from '#platform/app.ts';

/** Interval at which a worker registers the recurring jobs again, ms. When Redis loses its data, the registrations are lost too. */
const REGISTER_EVERY_MS = 10_000;
/** Maximum job schedulers that are read per queue. A job scheduler is BullMQ's registration of a recurring job. */
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
 * Keeps the job schedulers in Redis equal to `jobs/schedule.ts`, for some queues. Registers missing and changed schedulers. Removes the schedulers of
 * former releases, because their jobs have no handler.
 * @param queues the names of the queues
 * @returns a function that stops the registration
 */
export function keepRecurringJobs(app: App, queues: readonly string[]): () => void {
  const registerAll = () => {
    Promise.all(queues.map((name) => registerQueue(app.queues.all.get(name)))).catch((err: unknown) =>
      app.log.warn({ err }, 'recurring jobs cannot be registered in Redis; the worker retries'),
    );
  };
  registerAll();
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
    // A job scheduler carries no data: the handler reads from the database which rows are due.
    ...changed.map(({ name, everyMs }) =>
      queue.upsertJobScheduler(name, { every: everyMs }, { name, data: {}, opts: { removeOnComplete: true, removeOnFail: 100 } }),
    ),
  ]);
}
