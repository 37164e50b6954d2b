import { z } from 'zod';
import { event } from '#platform/events/event.ts';

const Address = z.string().min(1).max(64);
const Key = z.string().min(1).max(64);
/** Token amounts: base units as text. */
const Amount = z.string().regex(/^\d{1,20}$/);
const Signature = z.string().min(1).max(100);

export const payoutConfirmed = event({
  type: 'payout_confirmed',
  category: 'rewards',
  summary: 'A payment has arrived, finally. To its wallet only.',
  payload: z.strictObject({ paymentId: Key, wallet: Address, currency: Key, amount: Amount, signature: Signature.nullable() }),
});

export const payoutFailed = event({
  type: 'payout_failed',
  category: 'rewards',
  summary: 'A payment could not be made as it is, and is looked into; it stays owed. To its wallet only.',
  payload: z.strictObject({ paymentId: Key, wallet: Address, currency: Key, amount: Amount, reason: z.string() }),
});

/** Every event of this area. */
export const payoutEvents = [payoutConfirmed, payoutFailed];
