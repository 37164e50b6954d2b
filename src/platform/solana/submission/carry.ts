import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { enqueueSigning } from './jobs.ts';
import type { ToSign } from './priorities.ts';
import { type PendingAttempt, storedError, type TransactionRow } from './rows.ts';
import type { CarriedTransactions, ChainError, LandedTransaction, TransactionType } from './transaction-type.ts';

/**
 * One attempt can carry further transactions of its type: it has their effects too. A carried transaction stays `queued`, and nobody signs it before
 * its lease ends. It is finalized with the attempt that carries it. When that attempt ends without effect, the carried transactions are due at once;
 * when its process was killed or it takes long, they are due when the lease ends. So carrying never changes whether a transaction happens, only how
 * soon and at which cost. Only for types with `isGuarded`, because an effect may be in two attempts.
 */

/** Time for which transactions are leased while an attempt is composed and simulated, ms. */
const LEASE_MS = 10_000;
/** Time for which the transactions of a signed attempt are leased, ms: longer than a transaction needs to become final. */
const CARRIED_MS = 30_000;

/** Name of the stored error of a transaction whose simulation the chain refused. Such a transaction is signed alone. */
export const REFUSED = 'Refused';

/** SQL condition: the chain has refused neither a simulation nor an attempt of a transaction. */
const isUnrefused = (alias: string) => `${alias}.refusals = 0 and ${alias}.error->>'name' is distinct from '${REFUSED}'`;

const leaseDue = statement<{ id: string; subject: string; lease: string }>(
  'lease_chain_transactions',
  // All leased rows get the same time, which identifies the lease.
  `with lease as materialized (select app_now() + interval '${LEASE_MS} milliseconds' as until),
   own as (
     select t.id, ${isUnrefused('t')} as may_carry from chain_transactions t
     where t.id = $1 and t.state = 'queued' and t.next_at <= (select app_now()) for update skip locked),
   others as (
     select t.id from own join unnest($3::text[]) with ordinality as s(subject, n) on own.may_carry
     join chain_transactions t on t.kind = $2 and t.subject = s.subject
     where t.state = 'queued' and t.priority = $4 and t.next_at <= (select app_now()) and t.id <> $1 and ${isUnrefused('t')}
     order by s.n limit $5 for update of t skip locked)
   update chain_transactions t set next_at = lease.until from lease, (select id from own union all select id from others) as c
   where t.id = c.id returning t.id::text, t.subject, t.next_at::text as lease`,
);

const leaseAgain = statement<{ id: string; subject: string; lease: string }>(
  'lease_carried_transactions_again',
  `with lease as materialized (select app_now() + interval '${LEASE_MS} milliseconds' as until),
   carried as (select id from chain_transactions where id = any($1::uuid[]) and state = 'queued' order by id for update skip locked)
   update chain_transactions t set next_at = lease.until from lease, carried c where t.id = c.id returning t.id::text, t.subject, t.next_at::text as lease`,
);

/** Leases the transactions that a live attempt carries, so that a further attempt of the same transaction carries them too. */
export async function leaseCarried(app: App, ids: readonly string[]): Promise<CarriedTransactions | null> {
  const members = ids.length === 0 ? [] : await app.tx((tx) => tx.query(leaseAgain, [ids]));
  const [first] = members;
  return first === undefined ? null : { lease: first.lease, members: members.map(({ id, subject }) => ({ id, subject })) };
}

/** A leased transaction, and the further due transactions that its attempt may carry. */
export interface Leased {
  readonly row: TransactionRow;
  readonly claimed: CarriedTransactions | null;
}

/**
 * Leases a due transaction whose type can carry others, together with the others that its attempt may carry, so that no other attempt carries them.
 * @returns null when another worker has the transaction
 */
export async function leaseTransactions(app: App, type: TransactionType, row: TransactionRow): Promise<Leased | null> {
  if (!type.candidatesFor) return { row, claimed: null };
  const { subjects, limit } = await type.candidatesFor(app, row.subject);
  const leased = await app.tx((tx) => tx.query(leaseDue, [row.id, type.name, subjects, row.priority, limit]));
  const own = leased.find(({ id }) => id === row.id);
  if (!own) return null;
  const members = leased.flatMap(({ id, subject }) => (id === row.id ? [] : [{ id, subject }]));
  return { row: { ...row, lease: own.lease }, claimed: members.length === 0 ? null : { lease: own.lease, members } };
}

const hold = statement<{ id: string }>(
  'hold_carried_transactions',
  `with held as (
     select id from chain_transactions where id = any($1::uuid[]) and state = 'queued' and next_at = $2::timestamptz order by id for update skip locked)
   update chain_transactions t set next_at = app_now() + interval '${CARRIED_MS} milliseconds', error = $3::jsonb, changed_at = app_now()
   from held where t.id = held.id returning t.id::text`,
);

/** Extends the leases of the transactions that a signed attempt carries. @throws when another worker has one of them, because its lease has ended */
export async function holdCarried(tx: Tx, { lease, members }: CarriedTransactions, signature: string): Promise<void> {
  const error: ChainError = { name: 'Carried', message: `the effect is part of transaction ${signature}`, instruction: null, code: null };
  const held = await tx.query(hold, [members.map(({ id }) => id), lease, storedError(error)]);
  if (held.length < members.length) throw new Error('the lease of a carried transaction has ended; the transaction is composed again');
}

const settle = statement<{ subject: string; signature: string; slot: number | null }>(
  'settle_carried_transactions',
  `with locked as (select id from chain_transactions where id = any($1::uuid[]) and state = 'queued' order by id for update)
   update chain_transactions t set state = 'finalized', signature = v.signature, slot = v.slot, error = null, changed_at = app_now()
   from unnest($1::uuid[], $2::text[], $3::int8[]) as v(id, signature, slot) join locked using (id) where t.id = v.id returning t.subject, t.signature, t.slot::float8 as slot`,
);

/** Finalizes the transactions that finalized attempts carried. A transaction with an attempt of its own ends with that attempt. */
export async function settleCarried(
  tx: Tx,
  landed: readonly { readonly attempt: PendingAttempt; readonly slot: number | null }[],
): Promise<LandedTransaction[]> {
  const rows = landed.flatMap(({ attempt, slot }) => attempt.carried.map((id) => ({ id, signature: attempt.signature, slot })));
  if (rows.length === 0) return [];
  return await tx.query(settle, [rows.map(({ id }) => id), rows.map(({ signature }) => signature), rows.map(({ slot }) => slot)]);
}

const free = statement<ToSign>(
  'free_carried_transactions',
  // A transaction that another live attempt carries too stays leased.
  `with carried as (
     select t.id from chain_transactions t where t.id = any($1::uuid[]) and t.state = 'queued' and ($2::timestamptz is null or t.next_at = $2::timestamptz)
       and not exists (select from chain_attempts a where a.state in ('signed', 'sent', 'confirmed') and t.id = any(a.carried)) order by t.id for update)
   update chain_transactions t set next_at = app_now(), error = null, changed_at = app_now() from carried c where t.id = c.id
   returning t.id::text, t.priority, t.rank`,
);

/** Makes the transactions due that an attempt without effect carried. */
export async function freeCarried(tx: Tx, ids: readonly string[]): Promise<void> {
  await freeThose(tx, ids, null);
}

/** Makes the transactions due that were leased with another one and that no attempt carries. */
export async function freeLeased(app: App, { lease, members }: CarriedTransactions): Promise<void> {
  const ids = members.map(({ id }) => id);
  await app.tx((tx) => freeThose(tx, ids, lease));
}

async function freeThose(tx: Tx, ids: readonly string[], lease: string | null): Promise<void> {
  if (ids.length === 0) return;
  for (const row of await tx.query(free, [ids, lease])) enqueueSigning(tx, row);
}

const postponeOne = statement(
  'postpone_carried_transaction',
  `update chain_transactions set next_at = app_now() + make_interval(secs => $2::float8 / 1000), error = $3::jsonb, changed_at = app_now()
   where id = $1 and state = 'queued' and next_at = $4::timestamptz`,
);

/** Postpones a carried transaction that the chain refused, so that the other ones are signed without it at once. */
export async function postponeCarried(app: App, { lease }: CarriedTransactions, id: string, delayMs: number, reason: string): Promise<void> {
  const error: ChainError = { name: REFUSED, message: reason, instruction: null, code: null };
  await app.tx((tx) => tx.query(postponeOne, [id, delayMs, storedError(error), lease]));
}
