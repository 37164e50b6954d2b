import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { signTransaction } from './jobs.ts';
import { selectDueTransactions } from './rows.ts';
import type { TransactionType } from './transaction-type.ts';

const insert = statement<{ id: string }>(
  'insert_chain_transactions',
  `insert into chain_transactions (kind, subject) select $1, s from unnest($2::text[]) as s order by s on conflict (kind, subject) do nothing returning id::text`,
);

/** Maximum jobs that one call of `enqueueDue` enqueues. */
const MAX_DUE = 500;

const nextDue = statement<{ ms: number | null }>(
  'next_due_transaction',
  `select extract(epoch from min(next_at) - app_now())::float8 * 1000 as ms from chain_transactions where state = 'queued'`,
);

/**
 * Enqueues signTransaction for queued transactions that are due, because Redis lost their job or their retry delay has passed.
 * @returns time until the next queued transaction is due, ms (0 or less = one is due); null when no transaction is queued
 */
export async function enqueueDue(app: App): Promise<number | null> {
  const due = await app.db.query(selectDueTransactions, [MAX_DUE]);
  if (due.length > 0) await app.queues.add(due.map((payload) => ({ job: signTransaction, payload })));
  return (await app.db.query(nextDue))[0]?.ms ?? null;
}

/** Stores one transaction per subject, and enqueues signTransaction for each after the commit. Idempotent per (type, subject). */
export async function submit(tx: Tx, type: Pick<TransactionType, 'name'>, subjects: readonly string[]): Promise<void> {
  for (const { id } of await tx.query(insert, [type.name, subjects])) tx.enqueue(signTransaction, { id });
}

const requeueFailed = statement<{ id: string }>(
  'retry_chain_transactions',
  `update chain_transactions set state = 'queued', tries = 0, refusals = 0, next_at = app_now(), changed_at = app_now(), error = null
   where kind = $1 and subject = any($2::text[]) and state = 'failed'
     and not exists (select 1 from chain_attempts a where a.transaction_id = id and a.state in ('signed', 'sent', 'confirmed'))
   returning id::text`,
);

/**
 * Queues failed transactions again. Transactions that are pending or finalized stay unchanged.
 * @returns the number of transactions queued again
 */
export async function retry(tx: Tx, type: Pick<TransactionType, 'name'>, subjects: readonly string[]): Promise<number> {
  const rows = await tx.query(requeueFailed, [type.name, subjects]);
  for (const { id } of rows) tx.enqueue(signTransaction, { id });
  return rows.length;
}
