import { z } from 'zod';
import type { Tx } from '#platform/db/transaction.ts';
import { job } from '#platform/jobs/job.ts';
import type { Queues } from '#platform/jobs/queues.ts';
import type { Priority, ToSign } from './priorities.ts';

/**
 * Declares a job that composes and signs one transaction, commits the signed bytes to the database, and sends the transaction. Each priority class has
 * such a job and a queue. BullMQ runs a job without a priority before all jobs with a priority, so every job of these queues has one: its rank.
 */
const signing = <const Name extends string, const Queue extends string>(name: Name, queue: Queue) =>
  job({
    name,
    queue,
    payload: z.strictObject({ id: z.uuid(), rank: z.int().min(1) }),
    id: ({ id }) => `sign-${id}`,
    priority: ({ rank }) => rank,
  });

export const signCommitment = signing('sign-commitment', 'sign-commitments');
export const signRoot = signing('sign-root', 'sign-roots');
export const signPayout = signing('sign-payout', 'sign-payouts');
export const signClaim = signing('sign-claim', 'sign-claims');

const signingJobs = { commitments: signCommitment, roots: signRoot, payouts: signPayout, claims: signClaim } as const satisfies Record<
  Priority,
  unknown
>;

/** Enqueues the signing of a transaction after the commit. */
export const enqueueSigning = (tx: Tx, { id, priority, rank }: ToSign): void => tx.enqueue(signingJobs[priority], { id, rank });

/** Enqueues the signing of transactions now. */
export const addSigning = (queues: Queues, rows: readonly ToSign[]): Promise<void> =>
  queues.add(rows.map(({ id, priority, rank }) => ({ job: signingJobs[priority], payload: { id, rank } })));

/** Returns the number of jobs that wait in the queue of a class. */
export const countWaiting = async (queues: Queues, priority: Priority): Promise<number> =>
  (await queues.all.get(signingJobs[priority].queue)?.getPrioritizedCount()) ?? 0;

/** Polls the status of all pending attempts, and sends them again when needed. Repeats this while attempts are pending. */
export const pollTransactions = job({
  name: 'poll-transactions',
  queue: 'polling',
  payload: z.strictObject({}),
  id: () => 'poll-transactions',
});
