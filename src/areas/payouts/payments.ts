import { instant, type Queryable, statement } from '#platform/db/sql.ts';

/** Currencies of payments: the stablecoin USDC and the reward token of the arcade. */
export const CURRENCIES = ['usdc', 'reward'] as const;
export type Currency = (typeof CURRENCIES)[number];

export const PAYERS = ['treasury', 'orchestrator'] as const;
export type Payer = (typeof PAYERS)[number];

/** States of a payment. `PaymentView` in schemas.ts describes each state. */
export const PAYMENT_STATES = ['pending', 'batched', 'confirmed', 'completed', 'failed', 'reversed', 'manual'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

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

const COLUMNS = `p.id::text, p.wallet, p.currency, p.amount::text, json_build_object('kind', p.cause_kind, 'id', p.cause_id) as cause, p.payer,
  p.state as status, p.signature, p.reason, ${instant('p.created_at')} as timestamp, ${instant('p.changed_at')} as "updatedAt",
  ${instant('p.completed_at')} as "completedAt"`;

const byId = statement<Payment>('read_payment', `select ${COLUMNS} from payments p where p.id = $1`);
const byCause = statement<Payment>(
  'read_payments_by_cause',
  `select ${COLUMNS} from payments p where p.cause_kind = $1 and p.cause_id = any($2::text[])`,
);
const ofWallet = statement<Payment>(
  'read_payments_of_wallet',
  `select ${COLUMNS} from payments p where p.wallet = $1 order by p.created_at desc, p.id limit $2 offset $3`,
);
const countOfWallet = statement<{ n: number }>('count_payments_of_wallet', 'select count(*)::int as n from payments where wallet = $1');
const owed = statement<{ amount: string; payments: number }>(
  'read_owed',
  `select coalesce(sum(amount), 0)::text as amount, count(*)::int as payments from payments
   where wallet = $1 and currency = $2 and state not in ('completed', 'reversed')`,
);

/** Returns one payment, or undefined when no payment has this id. */
export async function readPayment(db: Queryable, id: string): Promise<Payment | undefined> {
  return (await db.query(byId, [id]))[0];
}

/** Returns the payments for causes of one kind, keyed by cause id. The map has no entry for a cause without a payment. */
export async function readPaymentsByCause(db: Queryable, causeKind: string, causeIds: readonly string[]): Promise<Map<string, Payment>> {
  const rows = await db.query(byCause, [causeKind, causeIds]);
  return new Map(rows.map((payment) => [payment.cause.id, payment]));
}

/** Returns one page of the payments of a wallet, newest first, and the total number of its payments. */
export async function listWalletPayments(
  db: Queryable,
  wallet: string,
  limit: number,
  offset: number,
): Promise<{ payments: Payment[]; total: number }> {
  const [payments, count] = await Promise.all([db.query(ofWallet, [wallet, limit, offset]), db.query(countOfWallet, [wallet])]);
  return { payments, total: count[0]?.n ?? 0 };
}

/** Returns the sum and the number of a wallet's payments that are neither completed nor reversed. The sum is in base units as text. */
export async function readOwedToWallet(db: Queryable, wallet: string, currency: Currency): Promise<{ amount: string; payments: number }> {
  return (await db.query(owed, [wallet, currency]))[0] ?? { amount: '0', payments: 0 };
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
  const conditions = { 'p.payer': filter.payer, 'p.state': filter.status, 'p.currency': filter.currency, 'p.wallet': filter.wallet };
  const given = Object.entries(conditions).filter(([, value]) => value !== undefined);
  const where = given.map(([column], i) => `${column} = $${i + 1}`).join(' and ') || 'true';
  const values = given.map(([, value]) => value);
  const page = `order by p.created_at, p.id limit $${given.length + 1} offset $${given.length + 2}`;
  const [payments, count] = await Promise.all([
    db.query<Payment>({ text: `select ${COLUMNS} from payments p where ${where} ${page}` }, [...values, limit, offset]),
    db.query<{ n: number }>({ text: `select count(*)::int as n from payments p where ${where}` }, values),
  ]);
  return { payments, total: count[0]?.n ?? 0 };
}
