/**
 * The priority classes of transactions, highest first. Each class has a queue, a share of the workers' concurrency, its own poll loop and a reserve in
 * the daily limits. So no class can delay or use up another class. `claims` holds every transaction that any wallet can cause, also the commitments of
 * rounds that any wallet may open.
 */
export const PRIORITIES = ['commitments', 'roots', 'payouts', 'claims'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The priority of a transaction within its class. */
export interface Rank {
  readonly priority: Priority;
  /**
   * Number of pending transactions of the same caller, including this one, when the transaction was submitted. A lower rank is signed first, so a
   * caller with many pending transactions does not delay a caller with one.
   */
  readonly rank: number;
}

/** A transaction that is to be signed. */
export interface ToSign extends Rank {
  readonly id: string;
}
