import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Received, Verdict } from '#platform/webhooks/inbox.ts';
import { payoutConfirmed, payoutFailed } from './events.ts';
import type { Payer, PaymentState } from './payments.ts';
import { PaymentStatus, type Reported } from './schemas.ts';
import { type Paid, paidBy, whyNotPaidBy } from './transfers.ts';

interface Row {
  id: string;
  wallet: string;
  currency: string;
  amount: string;
  payer: Payer;
  state: PaymentState;
  /** Of the newest report, ms since 1970, and what it said: the state may have changed since. */
  reportedAt: number | null;
  reported: PaymentState;
}
const lock = statement<Row>(
  'lock_reported_payment',
  `select id::text, wallet, currency, amount::text, payer, state, round(extract(epoch from reported_at) * 1000)::float8 as "reportedAt",
     coalesce(reported, state) as reported
   from payments where id = $1 for update`,
);
const update = statement(
  'report_payment',
  `update payments set state = $2, reported = $2, reported_at = $3::timestamptz, signature = coalesce($4, signature), reason = $5, changed_at = app_now(),
     completed_at = case when $2 = 'completed' then coalesce(completed_at, app_now()) else completed_at end
   where id = $1`,
);

/** How far ahead of us a report may say to be, ms: one from the future would silence all that follow. */
const MOST_AHEAD_MS = 300_000;

/** Of two reports with the same timestamp, the one that is further on counts. */
const PROGRESS: Record<Reported, number> = { pending: 0, failed: 1, completed: 2, reversed: 3 };

const worked = (verdict: string): Verdict => ({ outcome: 'worked', verdict });
const failed = (verdict: string): Verdict => ({ outcome: 'failed', verdict });

const REASONS: Record<Reported, string | null> = {
  pending: null,
  completed: null,
  failed: 'the orchestrator reports that it has failed',
  reversed: 'the orchestrator reports that it was reversed',
};

/**
 * What a report of the orchestrator does to the payment that it names: nothing, unless the payment is the orchestrator's,
 * and wallet, amount and currency are its own; nothing when it is older than what is known. A signature that is given for
 * a completed payment is checked on the chain first.
 * @param body what was delivered
 */
export async function prepareReport(app: App, body: unknown, { at }: Received): Promise<(tx: Tx) => Promise<Verdict>> {
  const { data, timestamp } = PaymentStatus.parse(body);
  const time = new Date(timestamp);
  if (time.getTime() > new Date(at).getTime() + MOST_AHEAD_MS) return async () => failed('timestamp lies in the future');
  const signature = data.status === 'completed' ? (data.transactionSignature ?? null) : null;
  const paid = signature === null ? null : await paidBy(app, signature, data.wallet, 'usdc');
  return async (tx) => await apply(tx, data, time, paid);
}

async function apply(tx: Tx, data: PaymentStatus['data'], time: Date, paid: Paid | null): Promise<Verdict> {
  const payment = (await tx.query(lock, [data.paymentId]))[0];
  const refusal = whyRefused(payment, data);
  if (!payment || refusal !== null) return failed(refusal ?? 'there is no such payment');
  const stale = whyIgnored(payment, data.status, time);
  if (stale !== null) return worked(`ignored: ${stale}`);
  if (paid !== null) {
    if (paid.verdict === 'not final') return { outcome: 'again', verdict: paid.reason };
    if (paid.verdict === 'no') return failed(paid.reason);
    const reason = await whyNotPaidBy(tx, { id: payment.id, amount: BigInt(payment.amount) }, data.transactionSignature ?? '', paid);
    if (reason !== null) return failed(reason);
  }
  const signature = paid === null ? null : (data.transactionSignature ?? null);
  await tx.query(update, [payment.id, data.status, time.toISOString(), signature, REASONS[data.status]]);
  if (data.status !== payment.state) tell(tx, payment, data.status, signature);
  return worked(`the payment is ${data.status}`);
}

function whyRefused(payment: Row | undefined, data: PaymentStatus['data']): string | null {
  if (!payment) return 'there is no such payment';
  if (payment.payer !== 'orchestrator') return 'the payment is not the orchestrator’s';
  for (const field of ['wallet', 'amount', 'currency'] as const) {
    if (payment[field] !== data[field]) return `${field} is not that of the payment`;
  }
  return null;
}

function whyIgnored(payment: Row, status: Reported, time: Date): string | null {
  const known = payment.reportedAt;
  if (known !== null && time.getTime() < known) return 'a newer report is known';
  const progress = isReported(payment.reported) ? PROGRESS[payment.reported] : 0;
  if (known !== null && time.getTime() === known && PROGRESS[status] <= progress) return 'a report of the same time is known';
  if (payment.state === 'completed' && status !== 'reversed') return 'the payment is completed';
  return null;
}

const isReported = (state: PaymentState): state is Reported => state in PROGRESS;

function tell(tx: Tx, { id, wallet, currency, amount }: Row, status: Reported, signature: string | null): void {
  const payment = { paymentId: id, wallet, currency, amount };
  if (status === 'completed') tx.emit(payoutConfirmed, { ...payment, signature }, wallet);
  const reason = REASONS[status];
  if (reason !== null) tx.emit(payoutFailed, { ...payment, reason }, wallet);
}
