import { applyDueThemes, beginDueEvents, finishBan, sweepUnfinishedBans } from '#areas/arcade';
import { endSessions } from '#areas/auth';
import { advanceBattles, battleConsumer } from '#areas/battles';
import { endBurnEvents, ingestBurns } from '#areas/burns';
import { prepareBridged } from '#areas/chat';
import { sweepClips } from '#areas/clips';
import {
  advanceRound,
  checkTicket,
  findTicketPayments,
  refreshDenyList,
  runScheduler,
  storeBalances,
  sweepRounds,
  sweepTickets,
} from '#areas/lottery';
import { prepareReport, runReconciliation } from '#areas/payouts';
import { closeEndedPeriods, consumeActivities, detectLostBoards, keepHistory, rebuildBoard, refreshBoards } from '#areas/points';
import { deleteRequestedAccounts } from '#areas/privacy';
import { announceDueQuests, completeQuests, questConsumer, sweepQuests } from '#areas/quests';
import { referralConsumer } from '#areas/referrals';
import { computeEpoch, expireEpochs, noteRestoreOnce, projectDay, reconcileRoots, sweepEpochs, sweepRents } from '#areas/rewards';
import { prepareEngagement } from '#areas/social';
import { checkNames } from '#areas/wallets';
import type { jobs } from '#jobs/index.ts';
import { gather } from '#lib/concurrency/gather.ts';
import { type App, perApp } from '#platform/app.ts';
import { analyzeNewPartitions } from '#platform/db/partitions.ts';
import { signAndSend } from '#platform/solana/submission/index.ts';
import { WEBHOOK_SOURCES } from '#platform/webhooks/config.ts';
import { enqueueDueDeliveries, processDelivery } from '#platform/webhooks/inbox.ts';
import { findClaimSignatures, followEpochs, planPayouts, pollTransactions } from './chain-polling.ts';
import type { Handler } from './handler.ts';
import { purgeExpired } from './purge-expired.ts';
import { recordScores } from './record-scores.ts';
import { transactionTypes } from './transaction-types.ts';

/** Consumers of activities, in the order in which they process a batch. */
const CONSUMERS = [referralConsumer, questConsumer, battleConsumer] as const;
/** Maximum batches of activities per run; a worker that finds more batches starts the next run within half a second. */
const MAX_BATCHES = 50;

/** For each source of webhooks: the function that parses a stored delivery and returns the work to do. */
const PREPARE_BY_SOURCE = { 'payment-status': prepareReport, 'chat-bridge': prepareBridged, x: prepareEngagement } as const;

/** Signs a transaction. First detects a restored database with other keys, so that this process signs nothing with them. */
async function sign(app: App, { id }: { id: string }): Promise<void> {
  await noteRestoreOnce(app);
  await signAndSend(app, transactionTypes, id);
}

/** Time for which the jobs of claims are collected, ms. */
const CLAIMS_TURN_MS = 75;
const claimTurns = perApp(() => gather(async () => undefined, CLAIMS_TURN_MS));

/**
 * Signs a claim. Claims that arrive within a short time begin together, so that they share the statements that read and commit them, which halves the CPU time
 * of a claim.
 */
async function signTogether(app: App, payload: { id: string }): Promise<void> {
  await app.state(claimTurns)('', payload.id);
  await sign(app, payload);
}

/** The handler of every job. The code does not compile when a job has no handler. */
export const handlers: { readonly [Name in keyof typeof jobs]: Handler<(typeof jobs)[Name]> } = {
  recordScores,
  async consumeActivities(app) {
    for (let i = 0; i < MAX_BATCHES; i++) if (!(await consumeActivities(app, CONSUMERS))) return;
  },
  completeQuests: (app) => completeQuests(app),
  sweepQuests: (app) => sweepQuests(app),
  announceQuests: (app) => announceDueQuests(app),
  refreshBoards: (app) => refreshBoards(app),
  rebuildBoard: (app, { board }, progress) => rebuildBoard(app, board, progress),
  detectLostBoards: (app) => detectLostBoards(app),
  /** Also ends the sessions of the wallet, because the request that banned the wallet may have been interrupted after its commit. */
  async applyBan(app, { wallet }) {
    await endSessions(app, wallet);
    await finishBan(app, wallet);
  },

  signCommitment: sign,
  signRoot: sign,
  signPayout: sign,
  signClaim: signTogether,
  pollTransactions,
  followEpochs,
  findClaimSignatures,
  computeEpoch: (app, { epoch }, progress) => computeEpoch(app, epoch, progress),
  /** First detects a restored database with other keys, so that no batch is planned with them. */
  async planPayouts(app, payload) {
    await noteRestoreOnce(app);
    await planPayouts(app, payload);
  },
  async reconcilePayouts(app) {
    // Only operators use the balances, so a failure to read them does not stop the reconciliation.
    const balances = storeBalances(app).catch((err: unknown) =>
      app.log.debug({ err }, 'the balances of the fee payer and the treasury cannot be read; the next run tries again'),
    );
    await Promise.all([runReconciliation(app), reconcileRoots(app), balances]);
  },

  processWebhook: (app, { source, id }) => processDelivery(app, { source, id }, (body, received) => PREPARE_BY_SOURCE[source](app, body, received)),
  async sweepWebhooks(app) {
    await Promise.all(WEBHOOK_SOURCES.map((source) => enqueueDueDeliveries(app, source)));
  },

  advanceRound: (app, { round }) => advanceRound(app, round),
  sweepRounds: (app) => sweepRounds(app),
  checkTicket: (app, { ticket }) => checkTicket(app, ticket),
  sweepTickets: (app) => sweepTickets(app),
  findTicketPayments: (app) => findTicketPayments(app),
  scheduleRounds: (app) => runScheduler(app),
  refreshDenyList: (app) => refreshDenyList(app),

  advanceBattles: (app) => advanceBattles(app),
  /** Ends burn events first, so that they end on time even while the RPC node does not answer. */
  async ingestBurns(app) {
    await endBurnEvents(app);
    await ingestBurns(app);
  },

  purgeExpired,
  keepHistory: (app) => keepHistory(app),
  analyzePartitions: (app) => analyzeNewPartitions(app.db),
  closePeriods: (app) => closeEndedPeriods(app),
  sweepBans: (app) => sweepUnfinishedBans(app),
  async beginScheduled(app) {
    await applyDueThemes(app);
    await beginDueEvents(app);
  },
  sweepEpochs: (app) => sweepEpochs(app),
  projectDay: (app) => projectDay(app),
  expireEpochs: (app) => expireEpochs(app),
  sweepRents: (app) => sweepRents(app),
  sweepClips: (app) => sweepClips(app),
  deleteAccounts: (app) => deleteRequestedAccounts(app),
  checkNames: (app) => checkNames(app),
};
