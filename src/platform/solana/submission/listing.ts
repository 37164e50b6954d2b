import { type InferResult, sql } from 'kysely';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { JobDescription } from '#platform/jobs/description.ts';
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

const selectForBoard = statement<{
  id: string;
  kind: string;
  subject: string;
  state: string;
  priority: string;
  caller: string | null;
  failedSimulations: number;
  nextAt: string;
  error: unknown;
  attempts: unknown;
}>(
  'select_transactions_for_board',
  `select t.id, t.kind, t.subject, t.state, t.priority, t.caller, t.tries as "failedSimulations", ${instant('t.next_at')} as "nextAt", t.error,
     (select coalesce(jsonb_agg(jsonb_build_object('n', a.n, 'state', a.state, 'signature', a.signature, 'signedAt', ${instant('a.signed_at')}, 'slot', a.slot,
        'error', a.error) order by a.n), '[]') from chain_attempts a where a.transaction_id = t.id) as attempts
   from chain_transactions t where t.id = any($1::uuid[])`,
);

/** Describes the transactions that jobs sign, with every attempt: an attempt that expires is followed by another one without a new job. */
export async function describeTransactions(db: Queryable, payloads: readonly { id: string }[]): Promise<(payload: { id: string }) => JobDescription> {
  const rows = await db.query(selectForBoard, [payloads.map(({ id }) => id)]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ({ id }) => {
    const record = byId.get(id);
    if (!record) return { about: `transaction ${id}` };
    const of = record.caller === null ? '' : ` of wallet ${record.caller}`;
    return { about: `${record.kind} ${record.subject}${of}`, record, route: 'post /admin/transactions/{id}/retry' };
  };
}
