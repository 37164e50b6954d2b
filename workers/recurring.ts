import type { Queue } from 'bullmq';
import { jobs } from '#jobs/index.ts';
import { schedule } from '#jobs/schedule.ts';
import type { App } from '#platform/app.ts';

/** Interval at which a worker counts the registrations, ms. When Redis loses its data, the registrations are lost too. */
const COUNT_EVERY_MS = 10_000;
/** Interval at which a worker reads all registrations, ms. During an update, a worker of the former release may have replaced them by as many others. */
const REGISTER_EVERY_MS = 60_000;
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
  const each = (register: (queue: Queue) => Promise<void>) => {
    Promise.all(queues.flatMap((name) => app.queues.all.get(name) ?? []).map(register)).catch((err: unknown) =>
      app.log.warn({ err }, 'recurring jobs cannot be registered in Redis; the worker retries'),
    );
  };
  const registerAll = () => each(registerQueue);
  registerAll();
  const timers = [setInterval(() => each(registerMissing), COUNT_EVERY_MS).unref(), setInterval(registerAll, REGISTER_EVERY_MS).unref()];
  app.redis.on('ready', registerAll);
  return () => {
    for (const timer of timers) clearInterval(timer);
    app.redis.off('ready', registerAll);
  };
}

/** Registers the jobs of a queue if Redis has another number of them. A count costs an idle worker much less CPU time than reading all registrations. */
async function registerMissing(queue: Queue): Promise<void> {
  if ((await queue.getJobSchedulersCount()) !== (recurring.get(queue.name)?.length ?? 0)) await registerQueue(queue);
}

async function registerQueue(queue: Queue): Promise<void> {
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
