import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError } from '#lib/errors.ts';
import type { pollTransactions as job } from '#platform/solana/submission/jobs.ts';
import { enqueueDue, pollPending } from '#platform/solana/submission/transactions.ts';
import type { Handler } from './handler.ts';
import { transactionTypes } from './transaction-types.ts';

/** How long one run follows before it makes room for the next, ms. */
const RUN_MS = 5_000;

/** Follows pending transactions round after round, and rings for those whose bell was lost or whose next try has come. */
export const followTransactions: Handler<typeof job> = async (app) => {
  const end = performance.now() + RUN_MS;
  do {
    const due = await enqueueDue(app);
    try {
      const pending = await pollPending(app, transactionTypes);
      // What is to be tried again soon is not left to the next run, either.
      if (pending === 0 && (due === null || due > RUN_MS)) return;
    } catch (err) {
      // A node that does not answer is asked again, as soon as it would have been.
      if (!(err instanceof HttpError)) throw err;
      app.log.warn({ err }, 'the chain cannot be asked about transactions');
    }
    await sleep(app.config.chain.landing.pollMs);
  } while (performance.now() < end);
};
