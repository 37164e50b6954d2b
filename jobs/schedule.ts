import type { jobs } from './index.ts';

/**
 * Every recurring job and its interval, ms. A handler reads from the database which rows are due by `app_now()` or `app.clock`, so one run too many
 * or too few does no harm. The job of a weekly task also runs every minute: each run tries to insert a row for the week, and only the run whose
 * insert succeeds does the work.
 */
export const schedule: { readonly [Name in keyof typeof jobs]?: number } = {
  // Scores, points and boards
  consumeActivities: 500,
  completeQuests: 500,
  sweepQuests: 2_000,
  announceQuests: 2_000,
  detectLostBoards: 2_000,
  refreshBoards: 5_000,
  advanceBattles: 1_000,
  closePeriods: 20_000,
  sweepBans: 15_000,
  beginScheduled: 1_000,
  // Rounds
  scheduleRounds: 1_000,
  sweepRounds: 1_000,
  sweepTickets: 1_000,
  findTicketPayments: 2_000,
  refreshDenyList: 60_000,
  // Rewards
  projectDay: 15_000,
  sweepEpochs: 20_000,
  followEpochs: 3_000,
  findClaimSignatures: 3_000,
  expireEpochs: 15_000,
  sweepRents: 3_600_000,
  // Payouts and the chain
  planPayouts: 2_000,
  reconcilePayouts: 60_000,
  pollTransactions: 1_000,
  ingestBurns: 2_000,
  // Webhooks, media, expired rows
  sweepWebhooks: 2_000,
  sweepClips: 60_000,
  deleteAccounts: 60_000,
  checkNames: 60_000,
  purgeExpired: 60_000,
  keepHistory: 600_000,
};
