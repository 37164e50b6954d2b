import type { jobs } from './index.ts';

/**
 * Interval of the jobs of `workers/due-jobs.ts`, ms. Workers start these jobs when rows are due, so the schedule matters only after a worker was killed during
 * one of them: BullMQ ignores further runs that workers enqueue until it finds the lost run, and meanwhile the schedule starts the job.
 */
const IF_DUE_MS = 30_000;

/**
 * Every recurring job and its interval, ms. A handler reads from the database which rows are due by `app_now()` or `app.clock`, so one run too many
 * or too few does no harm. The job of a weekly task also runs every minute: each run tries to insert a row for the week, and only the run whose
 * insert succeeds does the work.
 */
export const schedule: { readonly [Name in keyof typeof jobs]?: number } = {
  // Scores, points and boards
  consumeActivities: IF_DUE_MS,
  completeQuests: IF_DUE_MS,
  sweepQuests: IF_DUE_MS,
  announceQuests: IF_DUE_MS,
  detectLostBoards: 5_000,
  refreshBoards: IF_DUE_MS,
  advanceBattles: IF_DUE_MS,
  closePeriods: 20_000,
  sweepBans: 15_000,
  beginScheduled: IF_DUE_MS,
  // Rounds
  scheduleRounds: IF_DUE_MS,
  sweepRounds: IF_DUE_MS,
  sweepTickets: IF_DUE_MS,
  findTicketPayments: IF_DUE_MS,
  refreshDenyList: 60_000,
  // Rewards
  // A request that reads an outdated projection also starts this job.
  projectDay: 300_000,
  sweepEpochs: 20_000,
  followEpochs: IF_DUE_MS,
  findClaimSignatures: IF_DUE_MS,
  expireEpochs: 15_000,
  sweepRents: 3_600_000,
  // Payouts and the chain
  planPayouts: IF_DUE_MS,
  reconcilePayouts: 60_000,
  pollTransactions: IF_DUE_MS,
  ingestBurns: IF_DUE_MS,
  // Webhooks, media, expired rows
  sweepWebhooks: IF_DUE_MS,
  sweepClips: 60_000,
  deleteAccounts: 60_000,
  checkNames: 60_000,
  purgeExpired: 60_000,
  keepHistory: 600_000,
  analyzePartitions: 15_000,
};
