import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Composes, signs, commits and sends one transaction. */
export const signTransaction = job({
  name: 'sign-transaction',
  queue: 'chain',
  payload: z.strictObject({ id: z.uuid() }),
  id: ({ id }) => `sign-${id}`,
});

/** Polls the status of all pending attempts, sends them again where needed, and repeats for as long as attempts are pending. */
export const pollTransactions = job({
  name: 'poll-transactions',
  queue: 'polling',
  payload: z.strictObject({}),
  id: () => 'poll-transactions',
});
