import { setTimeout as sleep } from 'node:timers/promises';
import { runPlanner } from '#areas/payouts';
import { findClaimSignatures as findSignatures, followEpochs as followOpenEpochs } from '#areas/rewards';
import type { findClaimSignatures as findClaimSignaturesJob, followEpochs as followEpochsJob } from '#jobs/chain.ts';
import type { planPayouts as planPayoutsJob } from '#jobs/payouts.ts';
import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { enqueueDue, PRIORITIES, type Priority, pollPending } from '#platform/solana/submission/index.ts';
import type { pollTransactions as pollTransactionsJob } from '#platform/solana/submission/jobs.ts';
import type { Handler } from './handler.ts';
import { transactionTypes } from './transaction-types.ts';

/** Handlers that poll for as long as transactions or payments are pending, instead of once per scheduled run. */

/** How long one run of the job polls transactions before the next run takes over, ms. */
const POLL_RUN_MS = 5_000;
/**
 * How long one run of the job plans payouts, ms. A planPayouts job that is enqueued during a run is dropped as a duplicate, so a run must end before
 * the next one is due by `due-jobs.ts`.
 */
const PLAN_RUN_MS = 1_800;

/**
 * Polls pending transactions, and enqueues the signing of rows whose job was lost or whose next attempt is due. Each priority class has its own loop, so
 * that a class with many pending transactions does not delay the others.
 */
export const pollTransactions: Handler<typeof pollTransactionsJob> = async (app) => {
  const end = performance.now() + POLL_RUN_MS;
  const busy = new Set(PRIORITIES);
  let failure: { error: unknown } | undefined;
  await Promise.all(
    PRIORITIES.map(async (priority) => {
      // A loop continues while another class is busy or its own poll failed, because this job runs only once at a time.
      for (;;) {
        let isIdle = false;
        try {
          isIdle = await pollOnce(app, priority);
        } catch (error) {
          failure = { error };
        }
        if (isIdle || performance.now() >= end) busy.delete(priority);
        if (busy.size === 0) return;
        await sleep(app.config.chain.submission.pollMs);
      }
    }),
  );
  if (failure) throw failure.error;
};

/** Polls one class once. @returns whether the class has no pending attempt, and no transaction that is due within `POLL_RUN_MS` */
async function pollOnce(app: App, priority: Priority): Promise<boolean> {
  const dueInMs = await enqueueDue(app, priority);
  try {
    const pending = await pollPending(app, transactionTypes, [priority]);
    // The run continues while a queued row becomes due within POLL_RUN_MS, so that the row does not wait for the next run.
    return pending === 0 && (dueInMs === null || dueInMs > POLL_RUN_MS);
  } catch (err) {
    if (!(err instanceof HttpError)) throw err;
    app.log.warn({ err }, 'the RPC node does not answer; pending transactions are polled again');
    return false;
  }
}

/** Frees payout lanes and plans payout batches for as long as payments are pending. */
export const planPayouts: Handler<typeof planPayoutsJob> = async (app) => {
  const end = performance.now() + PLAN_RUN_MS;
  while (await runPlanner(app)) {
    if (performance.now() > end) return;
    await sleep(app.config.chain.submission.pollMs);
  }
};

/** Reads the finalized changes of open reward epochs. While the RPC node does not answer, the next run tries again. */
export const followEpochs: Handler<typeof followEpochsJob> = async (app) => {
  try {
    await followOpenEpochs(app);
  } catch (err) {
    if (!(err instanceof HttpError)) throw err;
    app.log.warn({ err }, 'the RPC node does not answer; the epochs are read in the next run');
  }
};

/** Searches the signatures of claims by strangers. While the RPC node does not answer, the next run tries again. */
export const findClaimSignatures: Handler<typeof findClaimSignaturesJob> = async (app) => {
  try {
    await findSignatures(app);
  } catch (err) {
    if (!(err instanceof HttpError)) throw err;
    app.log.warn({ err }, 'the RPC node does not answer; the signatures of claims are searched in the next run');
  }
};
