import { z } from 'zod';
import { Count, Instant } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

const Address = z.string().min(1).max(64);
const Key = z.string().min(1).max(64);
/** A token amount: base units as text. */
const Amount = z.string().regex(/^\d{1,20}$/);
const Signature = z.string().min(1).max(100);

export const epochComputed = event({
  type: 'epoch_computed',
  category: 'rewards',
  summary:
    'The leaves of an epoch are computed, or computed anew after its exclusions changed. When its review is over, an epoch with leaves is committed to the chain; an epoch without leaves has the status empty.',
  payload: z.strictObject({
    epoch: Count,
    allocation: Count,
    status: z.enum(['computed', 'empty']),
    leaves: Count,
    total: Amount,
    undistributed: Amount,
    root: z.hex().nullable(),
  }),
});

export const epochCommitted = event({
  type: 'epoch_committed',
  category: 'rewards',
  summary: 'The transaction with the root and the tokens of an epoch is finalized. The rewards can be claimed until the epoch expires.',
  payload: z.strictObject({
    epoch: Count,
    root: z.hex(),
    total: Amount,
    leaves: Count,
    signature: Signature.nullable(),
    expiresAt: Instant,
  }),
});

export const epochSettled = event({
  type: 'epoch_settled',
  category: 'rewards',
  summary: 'The unclaimed rewards of an epoch are settled off-chain and cannot be claimed any more.',
  payload: z.strictObject({ epoch: Count, claimed: Amount, total: Amount }),
});

export const claimSubmitted = event({
  type: 'claim_submitted',
  category: 'rewards',
  summary: 'The transaction of a claim is being sent. The event is sent only to the wallet of the claim.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, amount: Amount }),
});

export const claimConfirmed = event({
  type: 'claim_confirmed',
  category: 'rewards',
  summary: 'A transaction that claims a reward is confirmed, or finalized if `final` is true. Any wallet can have sent the transaction.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, amount: Amount, signature: Signature.nullable(), final: z.boolean() }),
});

export const claimFailed = event({
  type: 'claim_failed',
  category: 'rewards',
  summary: 'A claim failed; the wallet can request the claim again. The event is sent only to the wallet of the claim.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, reason: z.string() }),
});

/** The event types of the area rewards. */
export const rewardEvents = [epochComputed, epochCommitted, epochSettled, claimSubmitted, claimConfirmed, claimFailed];
