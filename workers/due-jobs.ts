import { setTimeout as sleep } from 'node:timers/promises';
import { DUE_EVENTS, DUE_THEMES } from '#areas/arcade';
import { DUE_BATTLES } from '#areas/battles';
import { WATCHED_BURNS } from '#areas/burns';
import { DUE_ROUNDS, DUE_SCHEDULE, DUE_TICKETS, WATCHED_PAYMENTS } from '#areas/lottery';
import { PENDING_PLANS } from '#areas/payouts';
import { MARKED_REFRESHES, OPEN_ACTIVITIES } from '#areas/points';
import { ANNOUNCED_QUESTS, DUE_QUEST_CHECKS, QUESTS } from '#areas/quests';
import { DUE_SEARCHES, FOLLOWED_EPOCHS } from '#areas/rewards';
import { jobs } from '#jobs/index.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { DUE_TRANSACTIONS } from '#platform/solana/submission/index.ts';
import { DUE_DELIVERIES } from '#platform/webhooks/inbox.ts';

/** Interval at which a worker looks for due rows, ms. */
const LOOK_MS = 500;

/**
 * The recurring jobs that a worker enqueues when rows are due, each with the SQL that selects these rows. One statement serves all of them, because it
 * costs less CPU time than a run of one job.
 */
const DUE = {
  consumeActivities: OPEN_ACTIVITIES,
  refreshBoards: MARKED_REFRESHES,
  completeQuests: DUE_QUEST_CHECKS,
  advanceBattles: DUE_BATTLES,
  beginScheduled: `select 1 where exists (${DUE_THEMES}) or exists (${DUE_EVENTS})`,
  scheduleRounds: DUE_SCHEDULE,
  sweepRounds: DUE_ROUNDS,
  sweepTickets: DUE_TICKETS,
  pollTransactions: DUE_TRANSACTIONS,
  sweepWebhooks: DUE_DELIVERIES,
  sweepQuests: QUESTS,
  announceQuests: ANNOUNCED_QUESTS,
  findTicketPayments: WATCHED_PAYMENTS,
  planPayouts: PENDING_PLANS,
  ingestBurns: WATCHED_BURNS,
  followEpochs: FOLLOWED_EPOCHS,
  findClaimSignatures: DUE_SEARCHES,
} as const satisfies { readonly [Name in keyof typeof jobs]?: string };

/**
 * The jobs whose rows stay due after a run, for example because the chain is read for as long as an epoch is open; and the minimum time between two runs
 * of all workers, ms.
 */
export const EVERY_MS: { readonly [Name in keyof typeof DUE]?: number } = {
  sweepWebhooks: 2_000,
  sweepQuests: 10_000,
  announceQuests: 10_000,
  findTicketPayments: 2_000,
  planPayouts: 2_000,
  ingestBurns: 2_000,
  followEpochs: 3_000,
  findClaimSignatures: 3_000,
};

const selectDueJobs = statement<{ name: keyof typeof DUE }>(
  'select_due_jobs',
  Object.entries(DUE)
    .map(([name, rows]) => `select '${name}' as name where exists (${rows})`)
    .join(' union all '),
);

/**
 * Returns whether a job may be enqueued now. A job of `EVERY_MS` may be enqueued once per interval by all workers together; this call begins the interval.
 * The interval is a key in Redis. The throttling of BullMQ is not used, because it would add one job per interval to a paused queue.
 * @param begun the intervals that this process began: until they end, it does not ask Redis
 */
async function takeTurn(app: App, name: keyof typeof DUE, begun: Turns): Promise<boolean> {
  const everyMs = EVERY_MS[name];
  if (everyMs === undefined) return true;
  const now = performance.now();
  if (now < (begun.get(name) ?? 0)) return false;
  if ((await app.redis.set(`${app.config.redis.prefix}:due:${name}`, '1', 'PX', everyMs, 'NX')) === null) return false;
  begun.set(name, now + everyMs);
  return true;
}

/** Ends of intervals of jobs, ms by `performance.now()`. */
type Turns = Map<keyof typeof DUE, number>;

/**
 * Enqueues the jobs that have due rows. Does not enqueue a job that already waits or runs, or a job of `EVERY_MS` whose interval is not over. A job is
 * attempted once, because a later call enqueues it again.
 * @param queues the names of the queues whose jobs are enqueued
 * @param begun the intervals that earlier calls began
 */
export async function enqueueDueJobs(app: App, queues: readonly string[], begun: Turns = new Map()): Promise<void> {
  const due = (await app.db.query(selectDueJobs)).filter(({ name }) => queues.includes(jobs[name].queue));
  const turns = await Promise.all(due.map(({ name }) => takeTurn(app, name, begun)));
  const now = due.filter((_, i) => turns[i]).map(({ name }) => jobs[name]);
  if (now.length > 0) await app.queues.add(now.map((job) => ({ job: { ...job, attempts: 1 }, payload: {} })));
}

/**
 * Enqueues due jobs every `LOOK_MS` until `close` is called. Any number of workers may do this. While PostgreSQL or Redis does not answer, no job is
 * enqueued; the schedule starts the same jobs less often.
 */
export function keepEnqueueingDueJobs(app: App, queues: readonly string[]): { close(): Promise<void> } {
  if (!Object.keys(DUE).some((name) => queues.includes(jobs[name as keyof typeof DUE].queue))) return { close: async () => undefined };
  const closing = new AbortController();
  const run = async () => {
    let isFailing = false;
    const begun: Turns = new Map();
    while (!closing.signal.aborted) {
      try {
        await enqueueDueJobs(app, queues, begun);
        isFailing = false;
      } catch (err) {
        if (!isFailing) app.log.warn({ err }, 'due jobs cannot be enqueued; the worker retries');
        isFailing = true;
      }
      await sleep(LOOK_MS, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    close() {
      closing.abort();
      return running;
    },
  };
}
