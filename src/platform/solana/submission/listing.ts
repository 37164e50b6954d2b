import { instant, type Queryable, statement } from '#platform/db/sql.ts';

/** A transaction in the list for operators: it needs a decision, has failed, or was queued again by an operator. */
export interface ListedTransaction {
  id: string;
  kind: string;
  subject: string;
  state: 'manual' | 'failed' | 'queued';
  attempts: number;
  /** Signature of the latest attempt. */
  signature: string | null;
  error: unknown;
  /** Evidence of the last expiry check of the latest attempt. */
  evidence: unknown;
  createdAt: string;
  changedAt: string;
}

const SELECT = `select t.id::text, t.kind, t.subject, t.state, t.attempts, a.signature, t.error, a.doubt as evidence,
     ${instant('t.created_at')} as "createdAt", ${instant('t.changed_at')} as "changedAt"
   from chain_transactions t left join chain_attempts a on a.transaction_id = t.id and a.n = t.attempts`;

const selectListed = statement<ListedTransaction>(
  'list_unclear_transactions',
  `${SELECT}
   where t.state in ('manual', 'failed') and t.state = $1 order by t.changed_at desc, t.id limit $2 offset $3`,
);
const selectOne = statement<ListedTransaction>('read_listed_transaction', `${SELECT} where t.id = $1`);
const countListed = statement<{ n: number }>(
  'count_unclear_transactions',
  `select count(*)::int as n from chain_transactions where state in ('manual', 'failed') and state = $1`,
);

/** Returns one page of the transactions in a state, sorted by their last change (newest first), and the total number of transactions in the state. */
export async function listTransactions(
  db: Queryable,
  state: 'manual' | 'failed',
  limit: number,
  offset: number,
): Promise<{ transactions: ListedTransaction[]; total: number }> {
  const [transactions, total] = await Promise.all([db.query(selectListed, [state, limit, offset]), db.query(countListed, [state])]);
  return { transactions, total: total[0]?.n ?? 0 };
}

export async function readTransaction(db: Queryable, id: string): Promise<ListedTransaction | undefined> {
  return (await db.query(selectOne, [id]))[0];
}
