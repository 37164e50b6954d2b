import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { payoutFailed } from './events.ts';
import type { PaidPayment } from './payments.ts';

const toManual = statement<PaidPayment>(
  'move_payments_to_manual',
  `update payments p set state = 'manual', reason = v.reason, signature = null, changed_at = app_now()
   from unnest($1::uuid[], $2::text[]) as v(id, reason)
   where p.id = v.id and p.state in ('pending', 'batched', 'confirmed') and p.payer = 'treasury'
   returning p.id::text, p.wallet, p.currency, p.amount::text`,
);

/**
 * Sets payments to `manual`, in which an operator must decide, and notifies their wallets.
 * Precondition: no transaction of these payments is in flight.
 */
export async function moveToManual(tx: Tx, payments: readonly { readonly id: string; readonly reason: string }[]): Promise<void> {
  if (payments.length === 0) return;
  const reasons = new Map(payments.map(({ id, reason }) => [id, reason]));
  const rows = await tx.query(toManual, [[...reasons.keys()], [...reasons.values()]]);
  for (const { id, ...payment } of rows) tx.emit(payoutFailed, { paymentId: id, ...payment, reason: reasons.get(id) ?? '' }, payment.wallet);
}
