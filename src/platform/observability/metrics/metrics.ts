import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { WEBHOOK_SOURCES } from '#config';

/** What this process measures while it works, whatever it serves. Labels are templates, names and outcomes, never ids: each value is a series. */
export const registry = new Registry();
const registers = [registry];

const requests = new Histogram({
  name: 'coinop_http_request_seconds',
  help: 'How long requests took, by route template and status. A stream counts until it is opened.',
  labelNames: ['method', 'route', 'status'] as const,
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 20],
  registers,
});
const requestsInFlight = new Gauge({ name: 'coinop_http_requests_in_flight', help: 'Requests that are not answered yet.', registers });

const jobs = new Histogram({
  name: 'coinop_job_seconds',
  help: 'How long jobs took, by name and outcome; each try counts.',
  labelNames: ['name', 'outcome'] as const,
  buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 20, 60],
  registers,
});
const jobWaits = new Histogram({
  name: 'coinop_job_wait_seconds',
  help: 'How long jobs waited for a worker after they were due, by queue; first tries.',
  labelNames: ['queue'] as const,
  buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 20, 60],
  registers,
});
const jobsGivenUp = new Counter({
  name: 'coinop_jobs_given_up_total',
  help: 'Jobs whose last try failed, by name.',
  labelNames: ['name'] as const,
  registers,
});

/** What statements came to since it was last told, by name: thousands a second are only added up. */
const unsaidStatements = new Map<string, { count: number; seconds: number }>();
const statementCounter = (name: string, help: string, key: 'count' | 'seconds') =>
  new Counter({
    name,
    help,
    labelNames: ['statement'] as const,
    registers,
    collect() {
      for (const [statement, sums] of unsaidStatements) {
        this.inc({ statement }, sums[key]);
        sums[key] = 0;
      }
    },
  });
statementCounter('coinop_sql_statements_total', 'Statements that were answered, by name.', 'count');
// No histogram per statement: there are hundreds of them.
statementCounter(
  'coinop_sql_statement_seconds_total',
  'Time spent waiting for statements, by name; of statements that go out together each counts until it was answered.',
  'seconds',
);
const sqlFailures = new Counter({
  name: 'coinop_sql_failures_total',
  help: 'Statements that failed, by SQLSTATE; none where the server did not answer.',
  labelNames: ['code'] as const,
  registers,
});
const transactions = new Histogram({
  name: 'coinop_sql_transaction_seconds',
  help: 'How long transactions took from begin to end, by outcome.',
  labelNames: ['outcome'] as const,
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
  registers,
});

const commands = new Histogram({
  name: 'coinop_redis_command_seconds',
  help: 'How long Redis took to answer a command, by name; on connections that neither block nor subscribe.',
  labelNames: ['command'] as const,
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1],
  registers,
});
const commandFailures = new Counter({
  name: 'coinop_redis_failures_total',
  help: 'Commands that failed, by reason: reply (Redis refused it), timeout, connection.',
  labelNames: ['reason'] as const,
  registers,
});
const reconnects = new Counter({ name: 'coinop_redis_reconnects_total', help: 'Connections to Redis that were lost and are made anew.', registers });

const scores = new Counter({
  name: 'coinop_scores_total',
  help: 'Submitted scores, by outcome: accepted, held, or the status of the refusal. Repeats count again.',
  labelNames: ['outcome'] as const,
  registers,
});
const scoreBatches = new Histogram({
  name: 'coinop_score_batch_size',
  help: 'Scores in one transaction.',
  buckets: [1, 2, 5, 10, 25, 50, 100, 200, 500],
  registers,
});

const published = new Histogram({
  name: 'coinop_events_publish_seconds',
  help: 'Age of the oldest event of a round when it was in the feed.',
  buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
  registers,
});
const sseDropped = new Counter({
  name: 'coinop_sse_dropped_total',
  help: 'Subscribers that were dropped because they were too far behind.',
  registers,
});
const sseResets = new Counter({ name: 'coinop_sse_resets_total', help: 'Subscribers that were told that events may be missing.', registers });
let unsaidBytes = 0;
registry.registerMetric(
  new Counter({
    name: 'coinop_sse_sent_bytes_total',
    help: 'What was written to subscribers.',
    registers: [],
    collect() {
      this.inc(unsaidBytes);
      unsaidBytes = 0;
    },
  }),
);

const deliveries = new Counter({
  name: 'coinop_webhook_deliveries_total',
  help: 'Tries to work on a webhook delivery, by source and outcome: worked, failed (for good), again.',
  labelNames: ['source', 'outcome'] as const,
  registers,
});

for (const source of WEBHOOK_SOURCES) for (const outcome of ['worked', 'failed', 'again']) deliveries.inc({ source, outcome }, 0);

const attempts = new Counter({
  name: 'coinop_chain_attempts_total',
  help: 'Signed transactions by kind and what became of them: signed, confirmed, retracted (vanished after it was confirmed), finalized, failed, dead.',
  labelNames: ['kind', 'outcome'] as const,
  registers,
});
const landings = new Histogram({
  name: 'coinop_chain_landing_seconds',
  help: 'Time from signing until a transaction was seen confirmed, and finalized.',
  labelNames: ['kind', 'stage'] as const,
  buckets: [0.5, 1, 2.5, 5, 10, 15, 20, 30, 60, 120, 300, 1_800],
  registers,
});
const calls = new Histogram({
  name: 'coinop_chain_rpc_seconds',
  help: 'How long nodes took to answer, by method and outcome: answered, limited (429), failed (another status), unreachable.',
  labelNames: ['method', 'outcome'] as const,
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  registers,
});

const secondsSince = (started: number) => (performance.now() - started) / 1_000;

/** A request begins. */
export function beginRequest(): void {
  requestsInFlight.inc();
}

/**
 * Counts an answered request.
 * @param route the template, never the path: ids would make a series each
 */
export function observeRequest(method: string, route: string, status: number, ms: number): void {
  requestsInFlight.dec();
  requests.observe({ method, route, status }, ms / 1_000);
}

/** Runs a job and counts how it went. */
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

/** Counts how long a job waited for its first try, ms. */
export function observeWait(queue: string, ms: number): void {
  jobWaits.observe({ queue }, Math.max(0, ms) / 1_000);
}

/** Counts a job whose last try failed. @param times 0 makes the series be there before the first: an increase from nothing is none */
export function countGivenUp(name: string, times = 1): void {
  jobsGivenUp.inc({ name }, times);
}

/** Runs a statement and counts it under its name. */
export async function observeStatement<T>(given: string | undefined, run: () => Promise<T>): Promise<T> {
  const started = performance.now();
  try {
    const result = await run();
    const name = given ?? 'unnamed';
    const sums = unsaidStatements.get(name) ?? { count: 0, seconds: 0 };
    if (sums.count === 0) unsaidStatements.set(name, sums);
    sums.count += 1;
    sums.seconds += secondsSince(started);
    return result;
  } catch (error) {
    sqlFailures.inc({ code: Error.isError(error) && 'code' in error && /^[0-9A-Z]{5}$/.test(String(error.code)) ? String(error.code) : 'none' });
    throw error;
  }
}

/** Runs a transaction and counts how it ended. */
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

/** Counts a Redis command that was answered. @param sent when, by `performance.now()` */
export const observeCommand = (command: string, sent: number): void => commands.observe({ command }, secondsSince(sent));

/** Counts a Redis command that failed; a script that Redis does not know yet is sent to it, and asked for again. */
export function countCommandFailure(error: unknown): void {
  if (!isUnknownScript(error)) commandFailures.inc({ reason: reasonOf(error) });
}

const isUnknownScript = (error: unknown) => Error.isError(error) && error.message.startsWith('NOSCRIPT');

function reasonOf(error: unknown): string {
  if (!Error.isError(error)) return 'connection';
  if (error.name === 'ReplyError') return 'reply';
  return /timed out/i.test(error.message) ? 'timeout' : 'connection';
}

/** A connection to Redis was lost. */
export const countReconnect = (): void => reconnects.inc();

/** Counts what came of the scores of one transaction. */
export function observeScores(outcomes: readonly string[]): void {
  scoreBatches.observe(outcomes.length);
  for (const [outcome, all] of Map.groupBy(outcomes, (one) => one)) scores.inc({ outcome }, all.length);
}

/** A round of events is in the feed. @param ageMs of its oldest event */
export const observePublished = (ageMs: number): void => published.observe(Math.max(0, ageMs) / 1_000);

/** Counts what is written to a subscriber; hundreds of thousands of times a second, so it is only added up. */
export function countStreamed(bytes: number): void {
  unsaidBytes += bytes;
}

/** A subscriber was dropped; or told that events may be missing. */
export const countDropped = (): void => sseDropped.inc();
export const countReset = (): void => sseResets.inc();

/** Counts a try to work on a delivery. */
export const observeDelivery = (source: string, outcome: string): void => deliveries.inc({ source, outcome });

/** What became of attempts of a kind; confirmed and finalized ones with their ages, ms since they were signed. */
export function observeAttempts(kind: string, outcome: string, agesMs: readonly number[]): void {
  if (agesMs.length > 0) attempts.inc({ kind, outcome }, agesMs.length);
  if (outcome !== 'confirmed' && outcome !== 'finalized') return;
  for (const age of agesMs) landings.observe({ kind, stage: outcome }, age / 1_000);
}

/** Asks a node and counts how that went. */
export async function observeCall(method: string, ask: () => Promise<Response>): Promise<Response> {
  const started = performance.now();
  let outcome = 'unreachable';
  try {
    const response = await ask();
    outcome = response.ok ? 'answered' : response.status === 429 ? 'limited' : 'failed';
    return response;
  } finally {
    calls.observe({ method, outcome }, secondsSince(started));
  }
}
