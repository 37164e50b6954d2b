import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Frees lanes whose batch is finished, and assigns pending payments to new batches. */
export const planPayouts = job({
  name: 'plan-payouts',
  queue: 'payouts',
  payload: z.strictObject({}),
  id: () => 'plan-payouts',
});

/** Compares the database with the chain: whether the database was restored from a backup, and whether every transaction of a lane is known. */
export const reconcilePayouts = job({
  name: 'reconcile-payouts',
  queue: 'payouts',
  payload: z.strictObject({}),
  id: () => 'reconcile-payouts',
});
