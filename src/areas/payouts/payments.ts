import { sql } from 'kysely';
import { isoInstant, placeholder, prepared, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { build } from './build.ts';

/** Currencies of payments: the stablecoin USDC and the reward token of the arcade. */
export const CURRENCIES = ['usdc', 'reward'] as const;
export type Currency = (typeof CURRENCIES)[number];

export const PAYERS = ['treasury', 'orchestrator'] as const;
export type Payer = (typeof PAYERS)[number];

/** States of a payment. `PaymentView` in schemas.ts describes each state. */
export const PAYMENT_STATES = ['pending', 'batched', 'confirmed', 'completed', 'failed', 'reversed', 'manual'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** The wallet and the amount of a payment, as its events contain them. */
export interface PaidPayment {
  id: string;
  wallet: string;
  currency: string;
  amount: string;
}

/** A payment whose row is locked. */
export interface LockedPayment extends PaidPayment {
  payer: Payer;
  state: PaymentState;
}

/** A payment, as the API returns it. */
export interface Payment {
  id: string;
  wallet: string;
  currency: Currency;
  /** Amount in base units, as text. */
  amount: string;
  cause: { kind: string; id: string };
  payer: Payer;
  status: PaymentState;
  /** Signature of the transaction that made the payment; null before the state `confirmed`, or when the signature is not known. */
  signature: string | null;
  /** Reason why the payment is delayed, failed or reversed; null otherwise. */
  reason: string | null;
  /** Time at which the payment was created, ISO 8601 in UTC. */
  timestamp: string;
  updatedAt: string;
  completedAt: string | null;
}

const payments = build.selectFrom('payments');
const COLUMNS = [
  ...(['id', 'wallet', 'currency', 'amount', 'payer', 'state as status', 'signature', 'reason'] as const),
  sql<Payment['cause']>`json_build_object('kind', cause_kind, 'id', cause_id)`.as('cause'),
  isoInstant('created_at').as('timestamp'),
  isoInstant('changed_at').as('updatedAt'),
  isoInstant<string | null>('completed_at').as('completedAt'),
] as const;
const COUNT = sql<number>`count(*)::int`.as('n');

const ofCauses = payments.where('cause_kind', '=', placeholder<string>(1)).where('cause_id', '=', sql<string>`any(${placeholder(2)}::text[])`);
// Named, because each request for the results of a round runs this query.
const selectByCause = prepared('read_payments_by_cause', ofCauses.select(COLUMNS));

const owed = statement<{ amount: string; payments: number }>(
  'read_owed',
  `select coalesce(sum(amount), 0)::text as amount, count(*)::int as payments from payments
   where wallet = $1 and currency = $2 and state not in ('completed', 'reversed')`,
);

/** Returns one payment, or undefined when no payment has this id. */
export async function readPayment(db: Queryable, id: string): Promise<Payment | undefined> {
  return (await run(db, payments.select(COLUMNS).where('id', '=', id)))[0];
}

/** Returns the payments for causes of one kind, keyed by cause id. The map has no entry for a cause without a payment. */
export async function readPaymentsByCause(db: Queryable, causeKind: string, causeIds: readonly string[]): Promise<Map<string, Payment>> {
  const rows = await db.query(selectByCause, [causeKind, causeIds]);
  return new Map(rows.map((payment) => [payment.cause.id, payment]));
}

/** Returns one page of the payments of a wallet, newest first, and the total number of its payments. */
export async function listWalletPayments(
  db: Queryable,
  wallet: string,
  limit: number,
  offset: number,
): Promise<{ payments: Payment[]; total: number }> {
  const ofWallet = payments.where('wallet', '=', wallet);
  const page = ofWallet.select(COLUMNS).orderBy('created_at', 'desc').orderBy('id').limit(limit).offset(offset);
  const [rows, counted] = await Promise.all([run(db, page), run(db, ofWallet.select(COUNT))]);
  return { payments: rows, total: counted[0]?.n ?? 0 };
}

/** Returns the sum and the number of a wallet's payments that are neither completed nor reversed. The sum is in base units as text. */
export async function readOwedToWallet(db: Queryable, wallet: string, currency: Currency): Promise<{ amount: string; payments: number }> {
  const [sum] = await db.query(owed, [wallet, currency]);
  return sum ?? { amount: '0', payments: 0 };
}

const selectOwedByTreasury = statement<{ amount: string }>(
  'sum_owed_by_treasury',
  `select (coalesce((select sum(amount) from payments where currency = $1 and payer = 'treasury' and state in ('pending', 'batched', 'confirmed', 'manual')), 0)
     + coalesce((select sum(amount) from payments where currency = $1 and payer = 'treasury' and state = 'completed' and completed_at >= $2), 0))::text as amount`,
);

/**
 * Returns the amount that the treasury owes in a currency, base units. Includes payments completed at or after `since`, because a treasury balance
 * that was read after `since` may still contain their amounts.
 * @param since a time that PostgreSQL reads as a timestamptz
 */
export async function sumOwedByTreasury(db: Queryable, currency: Currency, since: string): Promise<bigint> {
  return BigInt((await db.query(selectOwedByTreasury, [currency, since]))[0]?.amount ?? 0);
}

/** Filter for the list of payments. A payment must match all fields that are given. */
interface PaymentFilter {
  readonly payer?: Payer | undefined;
  readonly status?: PaymentState | undefined;
  readonly currency?: Currency | undefined;
  readonly wallet?: string | undefined;
}

/**
 * Returns one page of the payments that match a filter, oldest first, and their total number. The SQL text contains only the conditions that are
 * given, so that PostgreSQL can use the best index for these conditions.
 */
export async function listPayments(
  db: Queryable,
  filter: PaymentFilter,
  limit: number,
  offset: number,
): Promise<{ payments: Payment[]; total: number }> {
  let matching = payments;
  if (filter.payer) matching = matching.where('payer', '=', filter.payer);
  if (filter.status) matching = matching.where('state', '=', filter.status);
  if (filter.currency) matching = matching.where('currency', '=', filter.currency);
  if (filter.wallet) matching = matching.where('wallet', '=', filter.wallet);
  const page = matching.select(COLUMNS).orderBy('created_at').orderBy('id').limit(limit).offset(offset);
  const [rows, counted] = await Promise.all([run(db, page), run(db, matching.select(COUNT))]);
  return { payments: rows, total: counted[0]?.n ?? 0 };
}
