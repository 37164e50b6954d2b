import { z } from 'zod';
import { Count } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

const Address = z.string().min(1).max(64);
const Key = z.string().min(1).max(64);
/** Token amounts: base units as text. */
const Amount = z.string().regex(/^\d{1,20}$/);
const Signature = z.string().min(1).max(100);

export const epochComputed = event({
  type: 'epoch_computed',
  category: 'rewards',
  summary: 'An epoch’s leaves are fixed; with a root, it goes on the chain next. Without leaves it is empty.',
  payload: z.strictObject({
    epoch: Count,
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
  summary: 'An epoch’s root is on the chain, finally, and funded: its rewards can be claimed until it expires.',
  payload: z.strictObject({
    epoch: Count,
    root: z.hex(),
    total: Amount,
    leaves: Count,
    signature: Signature.nullable(),
    expiresAt: z.iso.datetime(),
  }),
});

export const epochSettled = event({
  type: 'epoch_settled',
  category: 'rewards',
  summary: 'What was not claimed of an epoch is settled off-chain; it cannot be claimed any more.',
  payload: z.strictObject({ epoch: Count, claimed: Amount, total: Amount }),
});

export const claimSubmitted = event({
  type: 'claim_submitted',
  category: 'rewards',
  summary: 'A claim is on its way to the chain. To its wallet only.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, amount: Amount }),
});

export const claimConfirmed = event({
  type: 'claim_confirmed',
  category: 'rewards',
  summary: 'A reward was claimed, by whoever’s transaction: the cluster has confirmed it, or (`final`) it cannot vanish any more.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, amount: Amount, signature: Signature.nullable(), final: z.boolean() }),
});

export const claimFailed = event({
  type: 'claim_failed',
  category: 'rewards',
  summary: 'A claim could not be done; the reward can still be claimed. To its wallet only.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, reason: z.string() }),
});

/** Every event of this area. */
export const rewardEvents = [epochComputed, epochCommitted, epochSettled, claimSubmitted, claimConfirmed, claimFailed];
