import { instant, type Queryable, statement } from '#platform/db/sql.ts';

/** What payments are made in: stablecoin, and the arcade's own token. */
export const CURRENCIES = ['usdc', 'reward'] as const;
export type Currency = (typeof CURRENCIES)[number];

export const PAYERS = ['treasury', 'orchestrator'] as const;
export type Payer = (typeof PAYERS)[number];

/** How a payment goes; what each state means stands with the table. */
export const PAYMENT_STATES = ['pending', 'batched', 'confirmed', 'completed', 'failed', 'reversed', 'manual'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** A payment as it is shown. */
export interface Payment {
  id: string;
  wallet: string;
  currency: Currency;
  /** Base units, as text. */
  amount: string;
  cause: { kind: string; id: string };
  payer: Payer;
  status: PaymentState;
  /** The transaction that paid it, from confirmed on. */
  signature: string | null;
  /** Why it is not paid yet, or not any more. */
  reason: string | null;
  /** When it came to be owed, ISO 8601 in UTC. */
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

/** One payment, or undefined. */
export async function readPayment(db: Queryable, id: string): Promise<Payment | undefined> {
  return (await db.query(byId, [id]))[0];
}

/** The payments for causes of one kind, by the causes' ids; what is not owed is left out. */
export async function readPayments(db: Queryable, causeKind: string, causeIds: readonly string[]): Promise<Map<string, Payment>> {
  const rows = await db.query(byCause, [causeKind, causeIds]);
  return new Map(rows.map((payment) => [payment.cause.id, payment]));
}

/** A wallet's payments, newest first, and how many there are. */
export async function listWallet(db: Queryable, wallet: string, limit: number, offset: number): Promise<{ payments: Payment[]; total: number }> {
  const [payments, count] = await Promise.all([db.query(ofWallet, [wallet, limit, offset]), db.query(countOfWallet, [wallet])]);
  return { payments, total: count[0]?.n ?? 0 };
}

/** What a wallet is owed and has not finally been paid: base units as text, and in how many payments. */
export async function owedTo(db: Queryable, wallet: string, currency: Currency): Promise<{ amount: string; payments: number }> {
  return (await db.query(owed, [wallet, currency]))[0] ?? { amount: '0', payments: 0 };
}

const sumOwed = statement<{ amount: string }>(
  'sum_owed_by_treasury',
  `select (coalesce((select sum(amount) from payments where currency = $1 and payer = 'treasury' and state in ('pending', 'batched', 'confirmed', 'manual')), 0)
     + coalesce((select sum(amount) from payments where currency = $1 and payer = 'treasury' and state = 'completed' and completed_at >= $2), 0))::text as amount`,
);

/**
 * What the treasury owes in a currency, base units: what is not finally paid, and what was paid since a moment, which may still be in
 * a balance that was read after it.
 */
export async function owedByTreasury(db: Queryable, currency: Currency, since: Date): Promise<bigint> {
  return BigInt((await db.query(sumOwed, [currency, since]))[0]?.amount ?? 0);
}

/** Which payments operators list; all that are given must hold. */
export interface PaymentFilter {
  readonly payer?: Payer | undefined;
  readonly status?: PaymentState | undefined;
  readonly currency?: Currency | undefined;
  readonly wallet?: string | undefined;
}

/** Payments oldest first, and how many there are. The conditions are written out, so that each combination finds its index. */
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
