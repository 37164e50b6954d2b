import { planPayouts } from '#jobs/payouts.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { payoutConfirmed } from './events.ts';
import { type Payer, type PaymentState, readPayment } from './payments.ts';
import { paidBy, whyNotPaidBy } from './transfers.ts';

interface Decided {
  id: string;
  wallet: string;
  currency: string;
  amount: string;
  payer: Payer;
  state: PaymentState;
}
const lock = statement<Decided>(
  'lock_payment',
  'select id::text, wallet, currency, amount::text, payer, state from payments where id = $1 for update',
);
const again = statement(
  'retry_payment',
  `update payments set state = 'pending', reason = null, signature = null, refusals = 0, next_at = app_now(), changed_at = app_now() where id = $1`,
);
const settle = statement(
  'settle_payment',
  `update payments set state = 'completed', signature = $2, reason = null, completed_at = app_now(), changed_at = app_now() where id = $1`,
);

const noSuchPayment = () => fail(404, 'no such payment');

/**
 * Has a payment tried again that was set aside, or that the orchestrator reported as failed. In these states nothing is on
 * its way for it. What waits already, waits: the same again is no error.
 * @throws 404; 409 in any other state
 */
export async function retryPayment(app: App, id: string): Promise<void> {
  await app.tx(async (tx) => {
    const payment = (await tx.query(lock, [id]))[0];
    if (!payment) throw noSuchPayment();
    if (payment.state === 'pending') return;
    if (payment.state !== 'manual' && payment.state !== 'failed') throw fail(409, `the payment is ${payment.state}: there is nothing to retry`);
    await tx.query(again, [id]);
    if (payment.payer === 'treasury') tx.enqueue(planPayouts, {});
  });
}

/**
 * Writes down that a payment which was set aside has been made by hand, by a transaction that the chain knows.
 * @throws 404; 409 in any other state, or when the transaction is not final, or did not pay this
 */
export async function resolveByHand(app: App, id: string, signature: string): Promise<void> {
  const before = await readPayment(app.db, id);
  if (!before) throw noSuchPayment();
  if (before.status === 'completed' && before.signature === signature) return;
  const paid = await paidBy(app, signature, before.wallet, before.currency);
  if (paid.verdict !== 'paid') throw fail(409, `signature must be of a transaction that paid this: ${paid.reason}`);
  await app.tx(async (tx) => {
    const payment = (await tx.query(lock, [id]))[0];
    if (payment?.state !== 'manual') throw fail(409, `the payment is ${payment?.state}: only what was set aside is settled by hand`);
    const reason = await whyNotPaidBy(tx, { id, amount: BigInt(payment.amount) }, signature, paid);
    if (reason !== null) throw fail(409, `signature must be of a transaction that paid this: ${reason}`);
    await tx.query(settle, [id, signature]);
    const { wallet, currency, amount } = payment;
    tx.emit(payoutConfirmed, { paymentId: id, wallet, currency, amount, signature }, wallet);
  });
}
