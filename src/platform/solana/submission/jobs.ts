import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Composes and signs one transaction, commits the signed bytes to the database, and sends the transaction. */
export const signTransaction = job({
  name: 'sign-transaction',
  queue: 'chain',
  payload: z.strictObject({ id: z.uuid() }),
  id: ({ id }) => `sign-${id}`,
});

/** Polls the status of all pending attempts, and sends them again when needed. Repeats this while attempts are pending. */
export const pollTransactions = job({
  name: 'poll-transactions',
  queue: 'polling',
  payload: z.strictObject({}),
  id: () => 'poll-transactions',
});
