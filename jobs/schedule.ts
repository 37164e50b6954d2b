import type { jobs } from './index.ts';

/** When a recurring job runs: every so many milliseconds, or by a cron expression in UTC. */
export type Recurrence = { readonly everyMs: number } | { readonly cron: string };

/**
 * Every recurring job. A run only looks: the handler reads from the record what is due, so a run too many or too few does no harm.
 * Something weekly: `{ cron: '0 6 * * 1' }` runs on Mondays at 06:00 UTC.
 */
export const schedule: { readonly [Name in keyof typeof jobs]?: Recurrence } = {
  // Scores, points and boards
  consumeActivities: { everyMs: 500 },
  detectLostBoards: { everyMs: 2_000 },
  refreshBoards: { everyMs: 5_000 },
  advanceBattles: { everyMs: 1_000 },
  closePeriods: { everyMs: 20_000 },
  sweepBans: { everyMs: 15_000 },
  // Rounds
  scheduleRounds: { everyMs: 1_000 },
  sweepRounds: { everyMs: 1_000 },
  sweepTickets: { everyMs: 1_000 },
  // Rewards
  projectDay: { everyMs: 15_000 },
  sweepEpochs: { everyMs: 20_000 },
  followEpochs: { everyMs: 3_000 },
  expireEpochs: { everyMs: 15_000 },
  // Payouts and the chain
  planPayouts: { everyMs: 2_000 },
  reconcilePayouts: { everyMs: 60_000 },
  pollTransactions: { everyMs: 1_000 },
  ingestBurns: { everyMs: 2_000 },
  // Webhooks, media, expired rows
  sweepWebhooks: { everyMs: 2_000 },
  sweepClips: { everyMs: 60_000 },
  purgeExpired: { everyMs: 60_000 },
};
