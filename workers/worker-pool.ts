import { setTimeout as sleep } from 'node:timers/promises';
import { type Job as BullJob, Worker, type WorkerOptions } from 'bullmq';
import { jobs } from '#jobs/index.ts';
import { QUEUES, type QueueName } from '#jobs/queues.ts';
import { type Recurrence, schedule } from '#jobs/schedule.ts';
import type { App } from '#platform/app.ts';
import type { Job } from '#platform/jobs/job.ts';
import { queuePrefix } from '#platform/jobs/queues.ts';
import { countGivenUp, observeJob, observeWait } from '#platform/observability/metrics/metrics.ts';
import { traceJob } from '#platform/observability/tracing/tracing.ts';
import { untilReady } from '#platform/redis/connection.ts';
import { handlers } from './handlers.ts';

/** How each queue is served. Short locks where somebody waits: a killed worker's jobs run again within seconds. */
const WORKER_OPTIONS: Record<QueueName, Pick<WorkerOptions, 'concurrency' | 'lockDuration' | 'stalledInterval' | 'maxStalledCount'>> = {
  scores: { concurrency: 16, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  points: { concurrency: 4, lockDuration: 10_000, stalledInterval: 5_000, maxStalledCount: 1_000 },
  chain: { concurrency: 64, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  polling: { concurrency: 1, lockDuration: 10_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  payouts: { concurrency: 2, lockDuration: 30_000, stalledInterval: 5_000, maxStalledCount: 1_000 },
  webhooks: { concurrency: 8, lockDuration: 30_000, stalledInterval: 5_000, maxStalledCount: 1_000 },
  // One at a time: an epoch of a million wallets takes half a gigabyte. The work is in a thread, so its lock is kept.
  epochs: { concurrency: 1, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  rounds: { concurrency: 4, lockDuration: 10_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  arcade: { concurrency: 2, lockDuration: 10_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  maintenance: { concurrency: 2, lockDuration: 30_000, stalledInterval: 15_000, maxStalledCount: 1_000 },
};

/** The handlers by job name, as the wire has it. */
type AnyHandler = (app: App, payload: unknown) => Promise<void>;
const byName = new Map<string, { job: Job; handle: AnyHandler; recurrence: Recurrence | undefined }>(
  (Object.keys(jobs) as (keyof typeof jobs)[]).map((key) => [
    jobs[key].name,
    // The map of handlers is typed per job; here the payload is parsed by the job's own schema before its handler runs.
    { job: jobs[key], handle: handlers[key] as AnyHandler, recurrence: schedule[key] },
  ]),
);

/** Interval at which a worker registers the recurring jobs again, ms. */
const REGISTER_EVERY_MS = 10_000;

/** While it stops: how long Redis may take to hear of what is finished, and how often that is looked at, ms. */
const TELL_MS = 3_000;
const LOOK_MS = 20;

export interface WorkerPool {
  /** Finishes the jobs at hand, takes no more. What Redis cannot be told of by then runs again in another worker. */
  close(): Promise<void>;
}

/**
 * Serves queues in this process, and makes sure that recurring jobs are scheduled.
 * @param queues which queues; empty = all
 */
export async function serveQueues(app: App, queues: readonly string[]): Promise<WorkerPool> {
  // Jobs need Redis from their first moment, and a connection that fails fast does not wait for it.
  await untilReady(app.redis);
  const served = QUEUES.filter((name) => queues.length === 0 || queues.includes(name));
  let inFlight = 0;
  const handle = async (bullJob: BullJob) => {
    inFlight++;
    try {
      await run(app, bullJob);
    } finally {
      inFlight--;
    }
  };
  const workers = served.map((name) => serveQueue(app, name, handle));
  for (const { job } of byName.values()) if (served.some((name) => name === job.queue)) countGivenUp(job.name, 0);
  const recurring = [...byName.values()].filter(({ job, recurrence }) => recurrence !== undefined && served.some((name) => name === job.queue));
  const registerAll = async () => {
    try {
      await Promise.all(recurring.map(({ job, recurrence }) => recurrence && register(app, job, recurrence)));
    } catch (err) {
      app.log.warn({ err }, 'recurring jobs could not be registered; the next attempt follows');
    }
  };
  // Repeated, because a Redis that lost its data has lost the schedulers as well.
  void registerAll();
  const timer = setInterval(registerAll, REGISTER_EVERY_MS).unref();
  app.redis.on('ready', registerAll);
  return {
    async close() {
      clearInterval(timer);
      app.redis.off('ready', registerAll);
      let isClosed = false;
      const closing = Promise.all(workers.map((worker) => worker.close()));
      closing.then(() => (isClosed = true)).catch((err: unknown) => app.log.warn({ err }, 'a queue could not be left in order'));
      // BullMQ's word is not enough: while Redis is away it may be done before its jobs are, or never.
      for (let quietMs = 0; inFlight > 0 || (!isClosed && quietMs < TELL_MS); quietMs = inFlight > 0 ? 0 : quietMs + LOOK_MS) await sleep(LOOK_MS);
      if (!isClosed) app.log.warn('redis could not be told of all that is finished');
    },
  };
}

function serveQueue(app: App, name: QueueName, handle: (bullJob: BullJob) => Promise<void>): Worker {
  const worker = new Worker(name, handle, {
    connection: app.connect(),
    prefix: queuePrefix(app.config.redis.prefix, name),
    ...WORKER_OPTIONS[name],
  });
  worker.on('error', (err) => app.log.warn({ err, queue: name }, 'queue is not reachable'));
  worker.on('failed', (bullJob, err) => {
    const last = bullJob !== undefined && bullJob.attemptsMade >= (bullJob.opts.attempts ?? 1);
    if (last && byName.has(bullJob.name)) countGivenUp(bullJob.name);
    app.log[last ? 'error' : 'warn'](
      { err, queue: name, job: bullJob?.name, id: bullJob?.id, attempt: bullJob?.attemptsMade },
      last ? 'job failed for good' : 'job failed',
    );
  });
  return worker;
}

async function run(app: App, bullJob: BullJob): Promise<void> {
  const entry = byName.get(bullJob.name);
  if (!entry) throw new Error(`no such job: ${bullJob.name}`);
  const { name, queue, payload } = entry.job;
  const { timestamp, processedOn, attemptsMade, opts } = bullJob;
  if (attemptsMade === 0) observeWait(queue, (processedOn ?? timestamp) - timestamp - (opts.delay ?? 0));
  const about = { name, queue, id: bullJob.id ?? '', attempt: attemptsMade + 1 };
  await observeJob(name, () => traceJob(about, opts.telemetry?.metadata, () => entry.handle(app, payload.parse(bullJob.data))));
}

/** Registers a recurring job with BullMQ. Its scheduler only triggers: the handler reads from the record what is due. */
async function register(app: App, job: Job, recurrence: Recurrence): Promise<void> {
  const queue = app.queues.all.get(job.queue);
  if (!queue) return;
  const repeat = 'cron' in recurrence ? { pattern: recurrence.cron, tz: 'UTC' } : { every: recurrence.everyMs };
  const known = await queue.getJobScheduler(job.name);
  if ('cron' in recurrence ? known?.pattern === recurrence.cron : known?.every === recurrence.everyMs) return;
  await queue.upsertJobScheduler(job.name, repeat, { name: job.name, data: {}, opts: { removeOnComplete: true, removeOnFail: 100 } });
}
