import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { WEBHOOK_SOURCES } from '#platform/webhooks/config.ts';

/**
 * Counters and histograms of this process, shared by all applications that run in it. Label values are route templates, names and outcomes, never
 * ids, because each label value creates a time series.
 */
export const registry = new Registry();
const registers = [registry];

const requests = new Histogram({
  name: 'coinop_http_request_seconds',
  help: 'Duration of HTTP requests by route template and status. For an event stream, the time until it is open.',
  labelNames: ['method', 'route', 'status'] as const,
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 20],
  registers,
});
const requestsInFlight = new Gauge({ name: 'coinop_http_requests_in_flight', help: 'HTTP requests that have no response yet.', registers });

const jobs = new Histogram({
  name: 'coinop_job_seconds',
  help: 'Duration of job attempts by job name and outcome (done, failed).',
  labelNames: ['name', 'outcome'] as const,
  buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 20, 60],
  registers,
});
const jobWaits = new Histogram({
  name: 'coinop_job_wait_seconds',
  help: 'Time from the due time of a job to its first attempt, by queue.',
  labelNames: ['queue'] as const,
  buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 20, 60],
  registers,
});
const failedJobs = new Counter({
  name: 'coinop_jobs_failed_total',
  help: 'Jobs whose last attempt failed, by job name.',
  labelNames: ['name'] as const,
  registers,
});

/**
 * Number and total duration of the executions of each SQL statement since the last scrape. Thousands of statements run per second, so they are added
 * up in this map, and only a scrape adds the sums to the counters.
 */
const statementSums = new Map<string, { count: number; seconds: number }>();
const statementCounter = (name: string, help: string, key: 'count' | 'seconds') =>
  new Counter({
    name,
    help,
    labelNames: ['statement'] as const,
    registers,
    collect() {
      for (const [statement, sums] of statementSums) {
        this.inc({ statement }, sums[key]);
        sums[key] = 0;
      }
    },
  });
statementCounter('coinop_sql_statements_total', 'Executed SQL statements by name.', 'count');
// This metric is a counter of seconds and not a histogram, because a histogram would have many time series for each of hundreds of statements.
statementCounter(
  'coinop_sql_statement_seconds_total',
  'Total duration of SQL statements by name. The duration of a pipelined statement ends with its own response.',
  'seconds',
);
const sqlFailures = new Counter({
  name: 'coinop_sql_failures_total',
  help: 'Failed SQL statements by SQLSTATE; `none` when the server did not respond.',
  labelNames: ['code'] as const,
  registers,
});
const transactions = new Histogram({
  name: 'coinop_sql_transaction_seconds',
  help: 'Duration of SQL transactions by outcome (committed, rolled back).',
  labelNames: ['outcome'] as const,
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
  registers,
});

const commands = new Histogram({
  name: 'coinop_redis_command_seconds',
  help: 'Duration of Redis commands by name, without blocking and subscribing connections.',
  labelNames: ['command'] as const,
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1],
  registers,
});
const commandFailures = new Counter({
  name: 'coinop_redis_failures_total',
  help: 'Failed Redis commands by reason: reply (Redis returned an error), timeout, connection.',
  labelNames: ['reason'] as const,
  registers,
});
const reconnects = new Counter({ name: 'coinop_redis_reconnects_total', help: 'Redis connections that were lost and reconnected.', registers });

const publishDelays = new Histogram({
  name: 'coinop_events_publish_seconds',
  help: 'Age of the oldest event of a batch when the batch was appended to the Redis stream.',
  buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
  registers,
});
const droppedSubscribers = new Counter({
  name: 'coinop_sse_subscribers_dropped_total',
  help: 'Event stream subscribers that were disconnected because they read too slowly.',
  registers,
});
const streamResets = new Counter({
  name: 'coinop_sse_resets_total',
  help: 'Resets sent to event stream subscribers. A reset says that events may be missing.',
  registers,
});
/** Bytes written to subscribers since the last scrape. */
let streamedBytes = 0;
registry.registerMetric(
  new Counter({
    name: 'coinop_sse_sent_bytes_total',
    help: 'Bytes written to event stream subscribers.',
    registers: [],
    collect() {
      this.inc(streamedBytes);
      streamedBytes = 0;
    },
  }),
);

const deliveryAttempts = new Counter({
  name: 'coinop_webhook_attempts_total',
  help: 'Attempts to process a webhook delivery by source and outcome: worked, failed (no further attempt), retry (another attempt follows).',
  labelNames: ['source', 'outcome'] as const,
  registers,
});
// Each time series starts at 0, because Prometheus computes no increase for a time series that begins at 1.
for (const source of WEBHOOK_SOURCES) for (const outcome of ['worked', 'failed', 'retry']) deliveryAttempts.inc({ source, outcome }, 0);

const chainAttempts = new Counter({
  name: 'coinop_chain_attempts_total',
  help: 'Signed Solana transactions by transaction type and outcome: signed, confirmed, retracted (confirmed, then dropped by the chain), finalized, failed, dead (can never land).',
  labelNames: ['kind', 'outcome'] as const,
  registers,
});
const confirmations = new Histogram({
  name: 'coinop_chain_confirmation_seconds',
  help: 'Time from the signing of a Solana transaction until it was seen confirmed or finalized, by transaction type and stage.',
  labelNames: ['kind', 'stage'] as const,
  buckets: [0.5, 1, 2.5, 5, 10, 15, 20, 30, 60, 120, 300, 1_800],
  registers,
});
const rpcRequests = new Histogram({
  name: 'coinop_chain_rpc_seconds',
  help: 'Duration of RPC requests by method and outcome: answered, limited (429), failed (another error status), unreachable.',
  labelNames: ['method', 'outcome'] as const,
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  registers,
});
const rpcWaits = new Histogram({
  name: 'coinop_chain_rpc_wait_seconds',
  help: 'Time for which RPC requests waited for the request budget, by rank (urgent, normal, background). Requests that did not wait are left out.',
  labelNames: ['rank'] as const,
  buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 10],
  registers,
});

const secondsSince = (started: number) => (performance.now() - started) / 1_000;

/** Records the start of a request. */
export function beginRequest(): void {
  requestsInFlight.inc();
}

/**
 * Records the end of a request.
 * @param route the route template; it is not the path, because each path would create a time series
 * @param ms the duration of the request in ms
 */
export function observeRequest(method: string, route: string, status: number, ms: number): void {
  requestsInFlight.dec();
  requests.observe({ method, route, status }, ms / 1_000);
}

/** Runs a job and records its duration and outcome. */
export async function observeJob<T>(name: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  let outcome = 'failed';
  try {
    const result = await work();
    outcome = 'done';
    return result;
  } finally {
    jobs.observe({ name, outcome }, secondsSince(started));
  }
}

/** Records the time for which a job waited for its first attempt. */
export function observeJobWait(queue: string, ms: number): void {
  jobWaits.observe({ queue }, Math.max(0, ms) / 1_000);
}

/**
 * Counts a job whose last attempt failed.
 * @param times the number to add to the counter: 1, or 0 to create the time series, because Prometheus computes no increase for a time series that
 * begins at 1
 */
export function countFailedJob(name: string, times = 1): void {
  failedJobs.inc({ name }, times);
}

/** Runs an SQL statement and records its duration under its name. */
export async function observeStatement<T>(given: string | undefined, run: () => Promise<T>): Promise<T> {
  const started = performance.now();
  try {
    const result = await run();
    const name = given ?? 'unnamed';
    const sums = statementSums.get(name) ?? { count: 0, seconds: 0 };
    if (sums.count === 0) statementSums.set(name, sums);
    sums.count += 1;
    sums.seconds += secondsSince(started);
    return result;
  } catch (error) {
    sqlFailures.inc({ code: Error.isError(error) && 'code' in error && /^[0-9A-Z]{5}$/.test(String(error.code)) ? String(error.code) : 'none' });
    throw error;
  }
}

/** Runs an SQL transaction and records its duration and outcome. */
export async function observeTransaction<T>(run: () => Promise<T>): Promise<T> {
  const started = performance.now();
  let outcome = 'rolled back';
  try {
    const result = await run();
    outcome = 'committed';
    return result;
  } finally {
    transactions.observe({ outcome }, secondsSince(started));
  }
}

/**
 * Records the duration of a successful Redis command.
 * @param sent the value of `performance.now()` when the command was sent
 */
export const observeCommand = (command: string, sent: number): void => commands.observe({ command }, secondsSince(sent));

/** Counts a failed Redis command. A NOSCRIPT error does not count, because the caller then sends the whole script and the command succeeds. */
export function countCommandFailure(error: unknown): void {
  if (!isUnknownScript(error)) commandFailures.inc({ reason: reasonOf(error) });
}

const isUnknownScript = (error: unknown) => Error.isError(error) && error.message.startsWith('NOSCRIPT');

function reasonOf(error: unknown): string {
  if (!Error.isError(error)) return 'connection';
  if (error.name === 'ReplyError') return 'reply';
  return /timed out/i.test(error.message) ? 'timeout' : 'connection';
}

/** Counts a lost Redis connection. */
export const countReconnect = (): void => reconnects.inc();

/**
 * Records a batch of events that was published.
 * @param ageMs the age of the oldest event in the batch, ms
 */
export const observePublished = (ageMs: number): void => publishDelays.observe(Math.max(0, ageMs) / 1_000);

/** Counts bytes written to a subscriber. It runs several hundred thousand times per second, so it only adds to a variable. */
export function countStreamedBytes(bytes: number): void {
  streamedBytes += bytes;
}

export const countSubscriberDropped = (): void => droppedSubscribers.inc();
export const countStreamReset = (): void => streamResets.inc();

/** Counts an attempt to process a webhook delivery. */
export const countDeliveryAttempt = (source: string, outcome: string): void => deliveryAttempts.inc({ source, outcome });

/**
 * Records the outcome of signed Solana transactions.
 * @param agesMs the time since the signing of each transaction, ms
 */
export function observeAttempts(kind: string, outcome: string, agesMs: readonly number[]): void {
  if (agesMs.length > 0) chainAttempts.inc({ kind, outcome }, agesMs.length);
  if (outcome !== 'confirmed' && outcome !== 'finalized') return;
  for (const age of agesMs) confirmations.observe({ kind, stage: outcome }, age / 1_000);
}

/** Records the time for which an RPC request waited for the request budget. */
export const observeRpcWait = (rank: string, ms: number): void => rpcWaits.observe({ rank }, ms / 1_000);

/** Sends an RPC request and records its duration and outcome. */
export async function observeRpc<R extends Pick<Response, 'ok' | 'status'>>(method: string, send: () => Promise<R>): Promise<R> {
  const started = performance.now();
  let outcome = 'unreachable';
  try {
    const response = await send();
    outcome = response.ok ? 'answered' : response.status === 429 ? 'limited' : 'failed';
    return response;
  } finally {
    rpcRequests.observe({ method, outcome }, secondsSince(started));
  }
}
