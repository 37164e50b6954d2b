import { sql } from 'kysely';
import { z } from 'zod';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { describeIssue, validationError } from '#platform/http/validation-errors.ts';
import type { DeliveryVerdict, ReceivedDelivery } from '#platform/webhooks/inbox.ts';
import { build } from './build.ts';
import { payoutConfirmed, payoutFailed } from './events.ts';
import type { LockedPayment, PaymentState } from './payments.ts';
import { isReportType, PaymentReport, type ReportedStatus } from './schemas.ts';
import { checkTransfer, type TransferCheck, transferMismatch } from './transfers.ts';

interface ReportedPayment extends LockedPayment {
  /** Timestamp in the newest report that was applied, ms since 1970; null before the first report. */
  reportedAt: number | null;
  /** State of the payment in the newest report. It differs from `state` when an operator retried the payment after the report. */
  reported: PaymentState;
}
const lock = statement<ReportedPayment>(
  'lock_reported_payment',
  `select id::text, wallet, currency, amount::text, payer, state, round(extract(epoch from reported_at) * 1000)::float8 as "reportedAt",
     coalesce(reported, state) as reported
   from payments where id = $1 for update`,
);

/**
 * Maximum time by which the timestamp of a report may be in the future, ms. A report with a timestamp in the far future is rejected, because
 * otherwise all later reports would count as older and be ignored.
 */
const MAX_FUTURE_MS = 300_000;

/** Order of the reported states. If two reports have the same timestamp, the report whose state has the higher number applies. */
const PROGRESS: Record<ReportedStatus, number> = { pending: 0, failed: 1, completed: 2, reversed: 3 };

const processed = (verdict: string): DeliveryVerdict => ({ outcome: 'worked', verdict });
const failed = (verdict: string): DeliveryVerdict => ({ outcome: 'failed', verdict });

const REASONS: Record<ReportedStatus, string | null> = {
  pending: null,
  completed: null,
  failed: 'the orchestrator reports that the payment failed',
  reversed: 'the orchestrator reports that the payment was reversed',
};

/** Delivery of the orchestrator, of which only the type is known. */
const Typed = z.looseObject({ type: z.string() });
/** Maximum characters of an unknown type in a verdict. */
const MAX_TYPE_LENGTH = 100;

/**
 * Checks a status report of the orchestrator, and returns a function that applies the report in a transaction. A delivery of an unknown type has no
 * effect, and a malformed report fails permanently. The function rejects a report whose
 * wallet, amount or currency differs from the payment. It ignores a report that is older than the newest applied report. If a report of a completed
 * payment has a signature, the Solana transaction with this signature is checked on the chain first.
 * @param body JSON body of the webhook
 */
export async function prepareReport(app: App, body: unknown, { at }: ReceivedDelivery): Promise<(tx: Tx) => Promise<DeliveryVerdict>> {
  const typed = Typed.safeParse(body, { error: describeIssue });
  if (!typed.success) return async () => failed(validationError('body', typed.error).message);
  const { type } = typed.data;
  if (!isReportType(type)) return async () => processed(`ignored: the type ${JSON.stringify(type.slice(0, MAX_TYPE_LENGTH))} is unknown`);
  const parsed = PaymentReport.safeParse(body, { error: describeIssue });
  if (!parsed.success) return async () => failed(validationError('body', parsed.error).message);
  const { data, timestamp } = parsed.data;
  const time = new Date(timestamp);
  if (time.getTime() > new Date(at).getTime() + MAX_FUTURE_MS) return async () => failed('timestamp must not lie in the future');
  const signature = data.status === 'completed' ? (data.transactionSignature ?? null) : null;
  const paid = signature === null ? null : await checkTransfer(app, signature, data.wallet, 'usdc');
  return async (tx) => await applyReport(tx, data, time, paid);
}

async function applyReport(tx: Tx, data: PaymentReport['data'], time: Date, paid: TransferCheck | null): Promise<DeliveryVerdict> {
  const payment = (await tx.query(lock, [data.paymentId]))[0];
  const refusal = rejectionReason(payment, data);
  if (!payment || refusal !== null) return failed(refusal ?? 'the payment does not exist');
  const stale = ignoreReason(payment, data.status, time);
  if (stale !== null) return processed(`ignored: ${stale}`);
  if (paid !== null) {
    if (paid.verdict === 'not final') return { outcome: 'retry', verdict: paid.reason };
    if (paid.verdict === 'no') return failed(paid.reason);
    const reason = await transferMismatch(tx, { id: payment.id, amount: BigInt(payment.amount) }, data.transactionSignature ?? '', paid);
    if (reason !== null) return failed(reason);
  }
  const signature = paid === null ? null : (data.transactionSignature ?? null);
  const reported = { state: data.status, reported: data.status, reported_at: time.toISOString(), reason: REASONS[data.status] };
  const update = build
    .updateTable('payments')
    .set({ ...reported, changed_at: sql`app_now()` })
    .$if(signature !== null, (query) => query.set({ signature }))
    .$if(data.status === 'completed', (query) => query.set({ completed_at: sql`coalesce(completed_at, app_now())` }));
  await run(tx, update.where('id', '=', payment.id));
  if (data.status !== payment.state) emitPaymentEvents(tx, payment, data.status, signature);
  return processed(`the payment is ${data.status}`);
}

function rejectionReason(payment: ReportedPayment | undefined, data: PaymentReport['data']): string | null {
  if (!payment) return 'the payment does not exist';
  if (payment.payer !== 'orchestrator') return 'the treasury, not the orchestrator, makes this payment';
  for (const field of ['wallet', 'amount', 'currency'] as const) {
    if (payment[field] !== data[field]) return `${field} must be that of the payment`;
  }
  return null;
}

function ignoreReason(payment: ReportedPayment, status: ReportedStatus, time: Date): string | null {
  const known = payment.reportedAt;
  if (known !== null && time.getTime() < known) return 'a newer report exists';
  const progress = isReported(payment.reported) ? PROGRESS[payment.reported] : 0;
  if (known !== null && time.getTime() === known && PROGRESS[status] <= progress) return 'a report with the same timestamp exists';
  if (payment.state === 'completed' && status !== 'reversed') return 'the payment is completed';
  return null;
}

const isReported = (state: PaymentState): state is ReportedStatus => state in PROGRESS;

function emitPaymentEvents(tx: Tx, { id, wallet, currency, amount }: ReportedPayment, status: ReportedStatus, signature: string | null): void {
  const payment = { paymentId: id, wallet, currency, amount };
  if (status === 'completed') tx.emit(payoutConfirmed, { ...payment, signature }, wallet);
  const reason = REASONS[status];
  if (reason !== null) tx.emit(payoutFailed, { ...payment, reason }, wallet);
}
