import { z } from 'zod';
import { event } from '#platform/events/event.ts';

const Address = z.string().min(1).max(64);
const Key = z.string().min(1).max(64);
/** A token amount: base units as text. */
const Amount = z.string().regex(/^\d{1,20}$/);
const Signature = z.string().min(1).max(100);

export const payoutConfirmed = event({
  type: 'payout_confirmed',
  category: 'rewards',
  summary: 'The transaction of a payment is finalized. The event is sent only to the wallet of the payment.',
  payload: z.strictObject({ paymentId: Key, wallet: Address, currency: Key, amount: Amount, signature: Signature.nullable() }),
});

export const payoutFailed = event({
  type: 'payout_failed',
  category: 'rewards',
  summary:
    'A payment failed. The amount stays owed until an operator decides about the payment. The event is sent only to the wallet of the payment.',
  payload: z.strictObject({ paymentId: Key, wallet: Address, currency: Key, amount: Amount, reason: z.string() }),
});

/** The event types of the area payouts. */
export const payoutEvents = [payoutConfirmed, payoutFailed];
