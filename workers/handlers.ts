import type { jobs } from '#jobs/index.ts';
import { advanceBattles, sweepClips, watchBurns } from './arcade.ts';
import { closePeriods } from './close-periods.ts';
import { computeEpoch } from './compute-epoch.ts';
import { consumeActivities } from './consume-activities.ts';
import { expireEpochs } from './expire-epochs.ts';
import { followEpochs } from './follow-epochs.ts';
import { followTransactions } from './follow-transactions.ts';
import type { Handler } from './handler.ts';
import { planPayouts } from './plan-payouts.ts';
import { sweepDeliveries, workDelivery } from './process-webhook.ts';
import { projectDay } from './project-day.ts';
import { expire } from './purge-expired.ts';
import { rebuildBoard } from './rebuild-board.ts';
import { recordScores } from './record-scores.ts';
import { refreshBoards } from './refresh-boards.ts';
import { advanceRound, checkTicket, scheduleRounds, sweepRounds, sweepTickets } from './rounds.ts';
import { signTransaction } from './sign-transaction.ts';
import { sweepBans } from './sweep-bans.ts';
import { sweepEpochs } from './sweep-epochs.ts';
import { voidBanned } from './void-banned.ts';
import { watchBoards } from './watch-boards.ts';
import { watchPayouts } from './watch-payouts.ts';

/** How each job is done. A job without a handler does not compile. */
export const handlers: { readonly [K in keyof typeof jobs]: Handler<(typeof jobs)[K]> } = {
  recordScores,
  refreshBoards,
  rebuildBoard,
  watchBoards,
  expire,
  closePeriods,
  voidBanned,
  sweepBans,
  signTransaction,
  followTransactions,
  computeEpoch,
  sweepEpochs,
  projectDay,
  followEpochs,
  expireEpochs,
  planPayouts,
  watchPayouts,
  workDelivery,
  sweepDeliveries,
  advanceRound,
  sweepRounds,
  checkTicket,
  sweepTickets,
  scheduleRounds,
  consumeActivities,
  advanceBattles,
  watchBurns,
  sweepClips,
};
