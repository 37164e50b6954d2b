import { pollTransactions, signClaim, signCommitment, signPayout, signRoot } from '#platform/solana/submission/jobs.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { advanceBattles, ingestBurns } from './arcade.ts';
import { findClaimSignatures, followEpochs } from './chain.ts';
import { computeEpoch } from './epochs.ts';
import {
  analyzePartitions,
  beginScheduled,
  checkNames,
  closePeriods,
  deleteAccounts,
  expireEpochs,
  keepHistory,
  projectDay,
  purgeExpired,
  refreshDenyList,
  sweepBans,
  sweepClips,
  sweepEpochs,
  sweepRents,
} from './maintenance.ts';
import { planPayouts, reconcilePayouts } from './payouts.ts';
import { announceQuests, applyBan, completeQuests, consumeActivities, detectLostBoards, rebuildBoard, refreshBoards, sweepQuests } from './points.ts';
import type { QueueName } from './queues.ts';
import { advanceRound, checkTicket, findTicketPayments, scheduleRounds, sweepRounds, sweepTickets } from './rounds.ts';
import { recordScores } from './scores.ts';
import { sweepWebhooks } from './webhooks.ts';

/** Every job of the service. The platform declares the jobs that it enqueues itself; this folder declares the others. */
export const jobs = {
  recordScores,
  consumeActivities,
  completeQuests,
  sweepQuests,
  announceQuests,
  refreshBoards,
  rebuildBoard,
  detectLostBoards,
  applyBan,
  signCommitment,
  signRoot,
  signPayout,
  signClaim,
  pollTransactions,
  followEpochs,
  findClaimSignatures,
  computeEpoch,
  planPayouts,
  reconcilePayouts,
  processWebhook,
  sweepWebhooks,
  advanceRound,
  sweepRounds,
  checkTicket,
  sweepTickets,
  findTicketPayments,
  scheduleRounds,
  refreshDenyList,
  advanceBattles,
  ingestBurns,
  purgeExpired,
  keepHistory,
  analyzePartitions,
  closePeriods,
  sweepBans,
  beginScheduled,
  sweepEpochs,
  projectDay,
  expireEpochs,
  sweepRents,
  sweepClips,
  deleteAccounts,
  checkNames,
} as const satisfies Readonly<Record<string, { readonly queue: QueueName }>>;
