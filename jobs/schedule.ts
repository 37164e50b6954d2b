import type { jobs } from './index.ts';

/**
 * Every recurring job and its interval, ms. A handler reads from the database which rows are due by `app_now()` or `app.clock`, so one run too many
 * or too few does no harm. The job of a weekly task also runs every minute: each run tries to insert a row for the week, and only the run whose
 * insert succeeds does the work. Workers start the jobs of `workers/due-jobs.ts` also when rows are due, so the intervals of these jobs are longer. If a
 * worker is killed during one of these jobs, BullMQ ignores further runs that workers enqueue until it finds the lost run. Meanwhile the schedule starts
 * the job.
 */
export const schedule: { readonly [Name in keyof typeof jobs]?: number } = {
  // Scores, points and boards
  consumeActivities: 15_000,
  completeQuests: 15_000,
  sweepQuests: 15_000,
  announceQuests: 15_000,
  detectLostBoards: 5_000,
  refreshBoards: 15_000,
  advanceBattles: 15_000,
  closePeriods: 20_000,
  sweepBans: 15_000,
  beginScheduled: 15_000,
  // Rounds
  scheduleRounds: 15_000,
  sweepRounds: 15_000,
  sweepTickets: 15_000,
  findTicketPayments: 15_000,
  refreshDenyList: 60_000,
  // Rewards
  projectDay: 60_000,
  sweepEpochs: 20_000,
  followEpochs: 15_000,
  findClaimSignatures: 15_000,
  expireEpochs: 15_000,
  sweepRents: 3_600_000,
  // Payouts and the chain
  planPayouts: 15_000,
  reconcilePayouts: 60_000,
  pollTransactions: 15_000,
  ingestBurns: 15_000,
  // Webhooks, media, expired rows
  sweepWebhooks: 15_000,
  sweepClips: 60_000,
  deleteAccounts: 60_000,
  checkNames: 60_000,
  purgeExpired: 60_000,
  keepHistory: 600_000,
  analyzePartitions: 15_000,
};
