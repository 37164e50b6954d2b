import { type InferResult, sql } from 'kysely';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { build } from './rows.ts';

/** Selects transactions for operators. `signature` and `evidence`, which is the result of the last expiry check, belong to the latest attempt. */
const selectTransactions = build
  .selectFrom('chain_transactions as t')
  .leftJoin('chain_attempts as a', (join) => join.onRef('a.transaction_id', '=', 't.id').onRef('a.n', '=', 't.attempts'))
  .select(['t.id', 't.kind', 't.subject', 't.state', 't.attempts', 'a.signature', 't.error', 'a.doubt as evidence'])
  .select([isoInstant('t.created_at').as('createdAt'), isoInstant('t.changed_at').as('changedAt')])
  // An operator sees a transaction that needs a decision, that has failed, or that an operator queued again.
  .$narrowType<{ state: 'manual' | 'failed' | 'queued' }>();

/** A transaction as operators see it. */
export type ListedTransaction = InferResult<typeof selectTransactions>[number];

/** Returns one page of the transactions in a state, sorted by their last change (newest first), and the total number of transactions in the state. */
export async function listTransactions(
  db: Queryable,
  state: 'manual' | 'failed',
  limit: number,
  offset: number,
): Promise<{ transactions: ListedTransaction[]; total: number }> {
  const [transactions, total] = await Promise.all([
    run(db, selectTransactions.where('t.state', '=', state).orderBy('t.changed_at', 'desc').orderBy('t.id').limit(limit).offset(offset)),
    run(db, build.selectFrom('chain_transactions').select(sql<number>`count(*)::int`.as('n')).where('state', '=', state)),
  ]);
  return { transactions, total: total[0]?.n ?? 0 };
}

export async function readTransaction(db: Queryable, id: string): Promise<ListedTransaction | undefined> {
  return (await run(db, selectTransactions.where('t.id', '=', id)))[0];
}
