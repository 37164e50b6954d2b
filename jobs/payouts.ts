import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Frees payout lanes whose batch is finished, and assigns pending payments to new batches. */
export const planPayouts = job({
  name: 'plan-payouts',
  queue: 'payouts',
  payload: z.strictObject({}),
  id: () => 'plan-payouts',
});

/**
 * Compares the database with the chain. Detects a database that was restored from a backup, and transactions of payout lanes that the database does
 * not contain.
 */
export const reconcilePayouts = job({
  name: 'reconcile-payouts',
  queue: 'payouts',
  payload: z.strictObject({}),
  id: () => 'reconcile-payouts',
});
