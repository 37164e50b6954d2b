import { sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { enqueueSigning } from './jobs.ts';
import { type ListedTransaction, readTransaction } from './listing.ts';
import { build } from './rows.ts';

const lockTransaction = (id: string) =>
  build
    .selectFrom('chain_transactions')
    .select(['state', 'priority', 'rank', sql<string | null>`error->>'message'`.as('reason')])
    .where('id', '=', id)
    .forUpdate();

/** Selects an attempt that may still land or has landed. */
const selectUndecided = (id: string) =>
  build
    .selectFrom('chain_attempts')
    .select(['signature', 'state'])
    .where('transaction_id', '=', id)
    .where('state', 'not in', ['dead', 'failed'])
    .limit(1);

const requeue = (id: string) =>
  build
    .updateTable('chain_transactions')
    .set({ state: 'queued', tries: 0, refusals: 0, next_at: sql`app_now()`, changed_at: sql`app_now()`, error: null })
    .where('id', '=', id);

/**
 * Queues a transaction in state `manual` to be composed again. If the reason for the state `manual` still exists, composing sets this state again.
 * Idempotent: a queued transaction stays queued.
 *
 * A retry cannot repeat an effect on the chain:
 *   Claims: the bitmap of paid claims prevents a second claim.
 *   Epochs and lanes: their accounts prevent a second root, epoch end or lane.
 *   Payout batches: the nonce prevents a second batch or nonce advance.
 *   Draw commitments: the commitment account of a round prevents a second commitment.
 * In addition, this function rejects a transaction with an attempt that may still land.
 * @throws 404 when the transaction does not exist; 409 while an attempt may have landed, or when the state is neither `manual` nor `queued`
 */
export async function retryManual(tx: Tx, id: string): Promise<ListedTransaction> {
  const [row] = await run(tx, lockTransaction(id));
  if (!row) throw fail(404, 'no such transaction');
  if (row.state !== 'manual' && row.state !== 'queued') {
    throw fail(409, `the transaction is ${row.state}: only a transaction in state manual can be retried`);
  }
  if (row.state === 'manual') {
    const [attempt] = await run(tx, selectUndecided(id));
    if (attempt) {
      throw fail(409, `the transaction may have landed: attempt ${attempt.signature} is ${attempt.state} and not proven expired: ${row.reason}`);
    }
    await run(tx, requeue(id));
    enqueueSigning(tx, { id, priority: row.priority, rank: row.rank });
  }
  const listed = await readTransaction(tx, id);
  if (!listed) throw new Error('the row of the transaction disappeared between two statements');
  return listed;
}
