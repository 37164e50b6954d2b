import { type App, perApp } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { addSigning, countWaiting, enqueueSigning } from './jobs.ts';
import type { Priority, ToSign } from './priorities.ts';
import { isPending, selectDueTransactions } from './rows.ts';
import type { TransactionType } from './transaction-type.ts';

/** Maximum rank of a transaction. */
const MAX_RANK = 10_000;

const insert = statement<ToSign>(
  'insert_chain_transactions',
  `insert into chain_transactions (kind, subject, priority, caller, rank)
   select $1, s.subject, $3, s.caller, least(${MAX_RANK}, p.pending + s.n)
   from (select *, row_number() over (partition by caller order by i) as n from unnest($2::text[], $4::text[]) with ordinality as s(subject, caller, i)) s,
     lateral (select count(*)::int as pending from chain_transactions where caller = s.caller and state in ('queued', 'live')) as p
   order by s.subject on conflict (kind, subject) do nothing returning id::text, priority, rank`,
);

/** Maximum jobs that one call of `enqueueDue` enqueues. */
const MAX_DUE = 500;
/**
 * While more jobs than `FEW_WAITING` wait in the queue of a class, most due rows have a job already. So the rows are enqueued only every
 * `BUSY_INTERVAL_MS`.
 */
const FEW_WAITING = 50;
const BUSY_INTERVAL_MS = 5_000;

/** The last time at which this process enqueued the due rows of each class, ms. */
const enqueuedAt = perApp(() => new Map<Priority, number>());

/** SQL: the queued transactions whose signing is due, and the attempts whose next poll is due, of all classes. */
export const DUE_TRANSACTIONS = `select 1 from chain_transactions where state = 'queued' and next_at <= (select app_now())
  union all select 1 from chain_attempts where state in ('signed', 'sent', 'confirmed') and poll_at <= (select app_now())`;
const nextDue = statement<{ ms: number | null }>(
  'next_due_transaction',
  `select extract(epoch from min(next_at) - app_now())::float8 * 1000 as ms from chain_transactions where state = 'queued' and priority = $1`,
);

/**
 * Enqueues the signing of a class's queued transactions that are due, because Redis lost their job or their retry delay has passed.
 * @returns time until the next queued transaction is due, ms (0 or less = one is due); null when no transaction is queued
 */
export async function enqueueDue(app: App, priority: Priority): Promise<number | null> {
  const dueInMs = (await app.db.query(nextDue, [priority]))[0]?.ms ?? null;
  if (dueInMs === null || dueInMs > 0) return dueInMs;
  const last = app.state(enqueuedAt);
  const isRecent = performance.now() - (last.get(priority) ?? Number.NEGATIVE_INFINITY) < BUSY_INTERVAL_MS;
  if (!isRecent || (await countWaiting(app.queues, priority)) <= FEW_WAITING) {
    const due = await app.db.query(selectDueTransactions, [MAX_DUE, priority]);
    if (due.length > 0) await addSigning(app.queues, due);
    last.set(priority, performance.now());
  }
  return dueInMs;
}

/** The party that causes transactions. */
export interface Cause {
  /** The wallet that causes the transactions; null for the service and for operators. */
  readonly caller: string | null;
  /** The class of the transactions; by default the class of their type. Transactions that any wallet can cause belong to the class `claims`. */
  readonly priority?: Priority;
}

/**
 * Stores one transaction per subject, and enqueues the signing of each after the commit. Idempotent per (type, subject). The more pending transactions
 * a caller has, the later its next ones are signed.
 */
export const submit = (
  tx: Tx,
  type: Pick<TransactionType, 'name' | 'priority'>,
  subjects: readonly string[],
  { caller, priority = type.priority }: Cause = { caller: null },
): Promise<void> =>
  submitAll(
    tx,
    { name: type.name, priority },
    subjects.map((subject) => ({ subject, caller })),
  );

/** Does the same as `submit` for transactions of several callers. */
export async function submitAll(
  tx: Tx,
  { name, priority }: Pick<TransactionType, 'name' | 'priority'>,
  transactions: readonly { readonly subject: string; readonly caller: string | null }[],
): Promise<void> {
  const [subjects, callers] = [transactions.map(({ subject }) => subject), transactions.map(({ caller }) => caller)];
  for (const row of await tx.query(insert, [name, subjects, priority, callers])) enqueueSigning(tx, row);
}

const countPending = statement<{ pending: number }>(
  'count_pending_of_caller',
  `select count(*)::int as pending from chain_transactions where caller = $1 and state in ('queued', 'live')`,
);

/** Returns the number of a wallet's transactions that wait to be signed or are in flight. */
export async function pendingOf(tx: Tx, caller: string): Promise<number> {
  return (await tx.query(countPending, [caller]))[0]?.pending ?? 0;
}

const requeueFailed = statement<ToSign>(
  'retry_chain_transactions',
  `update chain_transactions set state = 'queued', tries = 0, refusals = case when $3 then refusals else 0 end, next_at = app_now(),
     changed_at = app_now(), error = null
   where kind = $1 and subject = any($2::text[]) and state = 'failed'
     and not exists (select 1 from chain_attempts a where a.transaction_id = id and ${isPending('a')})
   returning id::text, priority, rank`,
);

/**
 * Queues failed transactions again. Transactions that are pending or finalized stay unchanged.
 * @param keepFailures whether the number of failed attempts is kept, so that the next failure ends the transaction at once
 * @returns the number of transactions queued again
 */
export async function retry(
  tx: Tx,
  type: Pick<TransactionType, 'name'>,
  subjects: readonly string[],
  { keepFailures }: { keepFailures: boolean } = { keepFailures: false },
): Promise<number> {
  const rows = await tx.query(requeueFailed, [type.name, subjects, keepFailures]);
  for (const row of rows) enqueueSigning(tx, row);
  return rows.length;
}
