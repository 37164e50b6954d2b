import { sql } from 'kysely';
import { planPayouts } from '#jobs/payouts.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { build } from './build.ts';
import { payoutConfirmed } from './events.ts';
import { type LockedPayment, readPayment } from './payments.ts';
import { checkTransfer, transferMismatch } from './transfers.ts';

const lock = statement<LockedPayment>(
  'lock_payment',
  'select id::text, wallet, currency, amount::text, payer, state from payments where id = $1 for update',
);
const now = sql<string>`app_now()`;

const noSuchPayment = () => fail(404, 'the payment does not exist');

/**
 * Sets a payment from `manual` or `failed` back to `pending`. A payment in these two states has no transaction in flight. Does nothing to a pending
 * payment, so a repeated request succeeds.
 * @throws 404 when the payment does not exist; 409 when its state is not `manual`, `failed` or `pending`
 */
export async function retryPayment(app: App, id: string): Promise<void> {
  await app.tx(async (tx) => {
    const payment = (await tx.query(lock, [id]))[0];
    if (!payment) throw noSuchPayment();
    if (payment.state === 'pending') return;
    if (payment.state !== 'manual' && payment.state !== 'failed')
      throw fail(409, `the payment is ${payment.state}; only a manual or failed payment can be retried`);
    const pending = { state: 'pending', reason: null, signature: null, refusals: 0, next_at: now, changed_at: now } as const;
    await run(tx, build.updateTable('payments').set(pending).where('id', '=', id));
    if (payment.payer === 'treasury') tx.enqueue(planPayouts, {});
  });
}

/**
 * Completes a payment in the state `manual` that an operator paid with another transaction.
 * @param signature base58 text that identifies the operator's transaction
 * @throws 404 when the payment does not exist; 409 when its state is not `manual`, when the transaction is not finalized, or when the transaction did
 * not pay this payment
 */
export async function resolveByHand(app: App, id: string, signature: string): Promise<void> {
  const before = await readPayment(app.db, id);
  if (!before) throw noSuchPayment();
  if (before.status === 'completed' && before.signature === signature) return;
  const paid = await checkTransfer(app, signature, before.wallet, before.currency);
  if (paid.verdict !== 'paid') throw fail(409, `signature must name a transaction that paid this payment: ${paid.reason}`);
  await app.tx(async (tx) => {
    const payment = (await tx.query(lock, [id]))[0];
    if (payment?.state !== 'manual') throw fail(409, `the payment is ${payment?.state}; only a manual payment can be resolved`);
    const reason = await transferMismatch(tx, { id, amount: BigInt(payment.amount) }, signature, paid);
    if (reason !== null) throw fail(409, `signature must name a transaction that paid this payment: ${reason}`);
    const completed = { state: 'completed', signature, reason: null, completed_at: now, changed_at: now } as const;
    await run(tx, build.updateTable('payments').set(completed).where('id', '=', id));
    const { wallet, currency, amount } = payment;
    tx.emit(payoutConfirmed, { paymentId: id, wallet, currency, amount, signature }, wallet);
  });
}
