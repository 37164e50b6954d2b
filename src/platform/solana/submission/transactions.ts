import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { signTransaction } from './jobs.ts';
import { selectDue } from './rows.ts';
import type { TransactionType } from './transaction-type.ts';

export { pollPending } from './follow.ts';
export { type ListedTransaction, listTransactions } from './listing.ts';
export { retryManual } from './manual.ts';
export { outflowLeft, TOKEN_ACCOUNTS } from './outflows.ts';
export { pause, resume } from './pauses.ts';
export { signAndSend } from './sign.ts';
export type { ChainError, Draft, Failure, Landing, Outcome, Signing, Spend, TransactionType } from './transaction-type.ts';

const insert = statement<{ id: string }>(
  'insert_chain_transactions',
  `insert into chain_transactions (kind, subject) select $1, s from unnest($2::text[]) as s order by s on conflict (kind, subject) do nothing returning id::text`,
);

/** Rows that one look rings for. */
const MOST_DUE = 500;

const nextDue = statement<{ ms: number | null }>(
  'next_due_transaction',
  `select extract(epoch from min(next_at) - app_now())::float8 * 1000 as ms from chain_transactions where state = 'queued'`,
);

/**
 * Rings for what is due and not signed: its bell was lost with Redis, or it waited for its next try.
 * @returns in how many ms the next one is due, at most 0 where one is; null where nothing waits
 */
export async function enqueueDue(app: App): Promise<number | null> {
  const due = await app.db.query(selectDue, [MOST_DUE]);
  if (due.length > 0) await app.queues.add(due.map((payload) => ({ job: signTransaction, payload })));
  return (await app.db.query(nextDue))[0]?.ms ?? null;
}

/** Asks for something to land on the chain, once per kind and subject, after this transaction's commit. Again the same: nothing. */
export async function submit(tx: Tx, kind: Pick<TransactionType, 'name'>, subjects: readonly string[]): Promise<void> {
  for (const { id } of await tx.query(insert, [kind.name, subjects])) tx.enqueue(signTransaction, { id });
}

const again = statement<{ id: string }>(
  'retry_chain_transactions',
  `update chain_transactions set state = 'queued', tries = 0, refusals = 0, next_at = app_now(), changed_at = app_now(), error = null
   where kind = $1 and subject = any($2::text[]) and state = 'failed'
     and not exists (select 1 from chain_attempts a where a.transaction_id = id and a.state in ('signed', 'sent', 'confirmed'))
   returning id::text`,
);

/** Has what failed tried anew. What is on its way, or done, is left alone. @returns how many were taken up again */
export async function retry(tx: Tx, kind: Pick<TransactionType, 'name'>, subjects: readonly string[]): Promise<number> {
  const rows = await tx.query(again, [kind.name, subjects]);
  for (const { id } of rows) tx.enqueue(signTransaction, { id });
  return rows.length;
}

/** How a transaction stands. `live`: an attempt may land, or has. */
export interface Standing {
  readonly subject: string;
  readonly state: 'queued' | 'live' | 'confirmed' | 'finalized' | 'failed' | 'manual';
  readonly live: boolean;
}

const standing = statement<Standing>(
  'standing_of_transactions',
  `select t.subject, t.state, t.state = 'finalized' or exists (
     select 1 from chain_attempts a where a.transaction_id = t.id and a.state in ('signed', 'sent', 'confirmed')) as live
   from chain_transactions t where t.kind = $1 and t.subject = any($2::text[])`,
);

/** How transactions of a kind stand; those that nobody asked for are left out. */
export async function standingOf(db: Queryable, kind: Pick<TransactionType, 'name'>, subjects: readonly string[]): Promise<Standing[]> {
  return await db.query(standing, [kind.name, subjects]);
}

const landing = statement<{ state: Standing['state']; signature: string | null }>(
  'landing_of_transaction',
  'select state, signature from chain_transactions where kind = $1 and subject = $2',
);

/** How one transaction stands, and by what it landed; undefined where nobody asked for it. */
export async function landingOf(
  db: Queryable,
  kind: Pick<TransactionType, 'name'>,
  subject: string,
): Promise<{ state: Standing['state']; signature: string | null } | undefined> {
  return (await db.query(landing, [kind.name, subject]))[0];
}

/** What a live attempt takes of an asset when it lands. */
export interface UnderwaySpend {
  readonly signature: string;
  readonly amount: bigint;
}
const underway = statement<{ signature: string; amount: string }>(
  'spends_underway',
  `select a.signature, s->>'amount' as amount from chain_attempts a join chain_transactions t on t.id = a.transaction_id, jsonb_array_elements(a.spends) s
   where a.state in ('signed', 'sent', 'confirmed') and s->>'asset' = $1 and t.kind <> $2`,
);

/** What leaves us of an asset (a mint's address, or `sol`) by attempts that may still land or are not final, those of one kind aside. */
export async function spendsUnderway(db: Queryable, asset: string, except: Pick<TransactionType, 'name'>): Promise<UnderwaySpend[]> {
  return (await db.query(underway, [asset, except.name])).map(({ signature, amount }) => ({ signature, amount: BigInt(amount) }));
}

const ofSignatures = statement<{ signature: string; subject: string }>(
  'subjects_of_signatures',
  `select a.signature, t.subject from chain_attempts a join chain_transactions t on t.id = a.transaction_id
   where a.signature = any($2::text[]) and t.kind = $1`,
);

/** What signatures of ours are for, by signature; those of others are left out. */
export async function subjectsOf(db: Queryable, kind: Pick<TransactionType, 'name'>, signatures: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.query(ofSignatures, [kind.name, signatures]);
  return new Map(rows.map(({ signature, subject }) => [signature, subject]));
}
