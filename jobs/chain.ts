import { z } from 'zod';
import { job } from './job.ts';

/** Composes, signs, commits and sends what is to land on the chain. */
export const signTransaction = job({
  name: 'sign-transaction',
  queue: 'chain',
  payload: z.strictObject({ id: z.uuid() }),
  id: ({ id }) => `sign-${id}`,
});

/** Looks at all pending attempts together: statuses, re-sending, verdicts. It runs again by itself while something is pending. */
export const followTransactions = job({
  name: 'follow-transactions',
  queue: 'follow',
  payload: z.strictObject({}),
  id: () => 'follow-transactions',
  everyMs: 1_000,
});
