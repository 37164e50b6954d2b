import { setTimeout as sleep } from 'node:timers/promises';
import { type Job as BullJob, Worker, type WorkerOptions } from 'bullmq';
import { jobs } from '#jobs/index.ts';
import { QUEUES, type QueueName } from '#jobs/queues.ts';
import type { App } from '#platform/app.ts';
import type { Job, Progress } from '#platform/jobs/job.ts';
import { queuePrefix } from '#platform/jobs/queues.ts';
import { countFailedJob, observeJob, observeJobWait } from '#platform/observability/metrics/metrics.ts';
import { traceJob } from '#platform/observability/tracing/tracing.ts';
import { untilReady } from '#platform/redis/connection.ts';
import { keepEnqueueingDueJobs } from './due-jobs.ts';
import { handlers } from './handlers.ts';
import { keepRecurringJobs } from './recurring.ts';

/**
 * BullMQ options per queue. Queues whose jobs HTTP requests wait for have a short lock, so that the jobs of a killed worker run again within seconds.
 */
const WORKER_OPTIONS: Record<QueueName, Pick<WorkerOptions, 'concurrency' | 'lockDuration' | 'stalledInterval' | 'maxStalledCount'>> = {
  scores: { concurrency: 1, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  points: { concurrency: 4, lockDuration: 10_000, stalledInterval: 5_000, maxStalledCount: 1_000 },
  chain: { concurrency: 4, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  // The concurrency of a queue is the minimum share of its class, because no other class can use it. Claims that are signed at the same time share their
  // statements, and most of the time they wait for the chain and for each other, so many are signed at the same time: fewer than the connections of a process
  // to an RPC node, so that claims whose requests hang leave connections to the other classes.
  'sign-commitments': { concurrency: 8, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  'sign-roots': { concurrency: 4, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  'sign-payouts': { concurrency: 8, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  'sign-claims': { concurrency: 96, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  polling: { concurrency: 1, lockDuration: 10_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  payouts: { concurrency: 2, lockDuration: 30_000, stalledInterval: 5_000, maxStalledCount: 1_000 },
  webhooks: { concurrency: 8, lockDuration: 30_000, stalledInterval: 5_000, maxStalledCount: 1_000 },
  // One job at a time, because an epoch of a million wallets takes half a gigabyte of memory. The computation runs in a worker thread, so that the
  // main thread can renew the lock of the job in time.
  epochs: { concurrency: 1, lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  rounds: { concurrency: 4, lockDuration: 10_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  arcade: { concurrency: 2, lockDuration: 10_000, stalledInterval: 2_000, maxStalledCount: 1_000 },
  maintenance: { concurrency: 2, lockDuration: 30_000, stalledInterval: 15_000, maxStalledCount: 1_000 },
};

/**
 * Number of BullMQ workers per queue, 1 by default. A BullMQ worker with a concurrency above 1 searches for a second job before it starts the first one,
 * which delays the first one by a round trip. So a queue whose jobs requests wait for has several workers with a concurrency of 1.
 */
const BULL_WORKERS: Partial<Record<QueueName, number>> = { scores: 8 };

/**
 * Time that an idle BullMQ worker waits for a job before it looks into the queue, s. A new job ends the wait. A longer time costs an idle process less CPU time. BullMQ
 * also replaces a connection that has hung for this time and a moment.
 */
const DRAIN_DELAY_S = 10;

/** A handler without its payload type. */
type AnyHandler = (app: App, payload: unknown, progress?: Progress) => Promise<unknown>;
const byName = new Map<string, { job: Job; handle: AnyHandler }>(
  (Object.keys(jobs) as (keyof typeof jobs)[]).map((key) => [
    jobs[key].name,
    // The cast drops the payload type of the handler. It is safe, because the payload is parsed by the schema of the same job before the handler
    // runs.
    { job: jobs[key], handle: handlers[key] as AnyHandler },
  ]),
);

/** Maximum time that a shutdown waits until Redis has stored the results of finished jobs, and the poll interval of this wait, ms. */
const FLUSH_TIMEOUT_MS = 3_000;
const FLUSH_POLL_MS = 20;

export interface WorkerPool {
  /** Finishes running jobs and takes no new ones. A job whose result Redis did not store in time runs again in another worker. */
  close(): Promise<void>;
}

/**
 * Serves queues in this process and registers their recurring jobs.
 * @param queues the names of the queues to serve; empty = all queues
 * @throws when a name is unknown, because no worker would serve a misspelt queue
 */
export async function serveQueues(app: App, queues: readonly string[]): Promise<WorkerPool> {
  const unknown = queues.filter((name) => !QUEUES.some((queue) => queue === name));
  if (unknown.length > 0) throw new Error(`configuration: QUEUES names unknown queues: ${unknown.join(', ')}; the queues are ${QUEUES.join(', ')}`);
  // `app.redis` rejects commands while it is not connected, and jobs need it from the start.
  await untilReady(app.redis);
  const served = QUEUES.filter((name) => queues.length === 0 || queues.includes(name));
  let inFlight = 0;
  const handle = async (bullJob: BullJob) => {
    inFlight++;
    try {
      return await run(app, bullJob);
    } finally {
      inFlight--;
    }
  };
  const workers = served.flatMap((name) => serveQueue(app, name, handle));
  for (const { job } of byName.values()) if (served.some((name) => name === job.queue)) countFailedJob(job.name, 0);
  const stopRecurring = keepRecurringJobs(app, served);
  const dueJobs = keepEnqueueingDueJobs(app, served);
  return {
    async close() {
      stopRecurring();
      dueJobs.close().catch(() => undefined);
      let isClosed = false;
      const closing = Promise.all(workers.map((worker) => worker.close()));
      closing.then(() => (isClosed = true)).catch((err: unknown) => app.log.warn({ err }, 'a queue could not be closed'));
      // `worker.close()` alone is not enough: while Redis is down, it may resolve before the jobs have finished, or it may never resolve.
      for (let quietMs = 0; inFlight > 0 || (!isClosed && quietMs < FLUSH_TIMEOUT_MS); quietMs = inFlight > 0 ? 0 : quietMs + FLUSH_POLL_MS)
        await sleep(FLUSH_POLL_MS);
      if (!isClosed) app.log.warn('Redis did not store the results of all finished jobs; these jobs run again');
    },
  };
}

function serveQueue(app: App, name: QueueName, handle: (bullJob: BullJob) => Promise<unknown>): Worker[] {
  // BullMQ opens a further connection per worker for its blocking command.
  const connection = app.connect();
  return Array.from({ length: BULL_WORKERS[name] ?? 1 }, (_, i) => {
    const prefix = queuePrefix(app.config.redis.prefix, name);
    const options = { connection, prefix, drainDelay: DRAIN_DELAY_S, ...WORKER_OPTIONS[name] };
    const worker = new Worker(name, handle, { ...options, skipStalledCheck: i > 0 });
    worker.on('error', (err) => app.log.warn({ err, queue: name }, 'the queue is unreachable; BullMQ retries'));
    worker.on('failed', (bullJob, err) => reportFailure(app, name, bullJob, err));
    return worker;
  });
}

function reportFailure(app: App, queue: QueueName, bullJob: BullJob | undefined, err: Error): void {
  const last = bullJob !== undefined && bullJob.attemptsMade >= (bullJob.opts.attempts ?? 1);
  if (last && byName.has(bullJob.name)) countFailedJob(bullJob.name);
  app.log[last ? 'error' : 'warn'](
    { err, queue, job: bullJob?.name, id: bullJob?.id, attempt: bullJob?.attemptsMade },
    last ? 'the last attempt of a job failed' : 'an attempt of a job failed; it is retried',
  );
}

/** Minimum interval between two stored values of the progress of a job, ms. */
const PROGRESS_INTERVAL_MS = 1_000;

/** Returns the function that stores the progress of a job. Ignores failures, because only operators read the progress. */
function progressOf(app: App, bullJob: BullJob): Progress {
  let storedAt = Number.NEGATIVE_INFINITY;
  return (percent) => {
    const now = performance.now();
    if (now - storedAt < PROGRESS_INTERVAL_MS) return;
    storedAt = now;
    bullJob
      .updateProgress(Math.round(percent))
      .catch((err: unknown) => app.log.debug({ err, job: bullJob.name }, 'the progress of a job could not be stored'));
  };
}

/** Runs the handler of a job. @returns the result of the handler, which Bull Board shows */
async function run(app: App, bullJob: BullJob): Promise<unknown> {
  const entry = byName.get(bullJob.name);
  if (!entry) throw new Error(`this release has no handler for the job ${bullJob.name}`);
  const { name, queue, payload } = entry.job;
  const { timestamp, processedOn, attemptsMade, opts } = bullJob;
  if (attemptsMade === 0) observeJobWait(queue, (processedOn ?? timestamp) - timestamp - (opts.delay ?? 0));
  const about = { name, queue, id: bullJob.id ?? '', attempt: attemptsMade + 1 };
  const handle = () => entry.handle(app, payload.parse(bullJob.data), progressOf(app, bullJob));
  return await observeJob(name, () => traceJob(about, opts.telemetry?.metadata, handle));
}
