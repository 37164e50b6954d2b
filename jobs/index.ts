import { consumeActivities } from './activities.ts';
import { advanceBattles, sweepClips, watchBurns } from './arcade.ts';
import { sweepBans, voidBanned } from './bans.ts';
import { followTransactions, signTransaction } from './chain.ts';
import { computeEpoch, projectDay, sweepEpochs } from './epochs.ts';
import { planPayouts, watchPayouts } from './payouts.ts';
import { rebuildBoard, refreshBoards, watchBoards } from './points.ts';
import { expireEpochs, followEpochs } from './rewards.ts';
import { advanceRound, checkTicket, scheduleRounds, sweepRounds, sweepTickets } from './rounds.ts';
import { recordScores } from './scores.ts';
import { closePeriods, expire } from './upkeep.ts';
import { sweepDeliveries, workDelivery } from './webhooks.ts';

/** Every job of the service. */
export const jobs = {
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
} as const;
