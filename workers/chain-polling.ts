import { setTimeout as sleep } from 'node:timers/promises';
import { runPlanner } from '#areas/payouts';
import { followEpochs as followOpenEpochs } from '#areas/rewards';
import type { followEpochs as followEpochsJob } from '#jobs/chain.ts';
import type { planPayouts as planPayoutsJob } from '#jobs/payouts.ts';
import { HttpError } from '#lib/errors.ts';
import { enqueueDue, pollPending } from '#platform/solana/submission/index.ts';
import type { pollTransactions as pollTransactionsJob } from '#platform/solana/submission/jobs.ts';
import type { Handler } from './handler.ts';
import { transactionTypes } from './transaction-types.ts';

/** Handlers that poll for as long as transactions or payments are pending, instead of once per scheduled run. */

/** How long one run of the job polls transactions before the next run takes over, ms. */
const POLL_RUN_MS = 5_000;
/**
 * How long one run of the job plans payouts, ms. A planPayouts job that is enqueued during a run is dropped as a duplicate, so a run must end before
 * the schedule enqueues the next job.
 */
const PLAN_RUN_MS = 1_800;

/** Polls pending transactions, and enqueues signTransaction for rows whose job was lost or whose next attempt is due. */
export const pollTransactions: Handler<typeof pollTransactionsJob> = async (app) => {
  const end = performance.now() + POLL_RUN_MS;
  do {
    const dueInMs = await enqueueDue(app);
    try {
      const pending = await pollPending(app, transactionTypes);
      // The run continues while a queued row becomes due within POLL_RUN_MS, so that the row does not wait for the next run.
      if (pending === 0 && (dueInMs === null || dueInMs > POLL_RUN_MS)) return;
    } catch (err) {
      if (!(err instanceof HttpError)) throw err;
      app.log.warn({ err }, 'the RPC node does not answer; pending transactions are polled again');
    }
    await sleep(app.config.chain.submission.pollMs);
  } while (performance.now() < end);
};

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
