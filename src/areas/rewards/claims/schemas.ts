import { z } from 'zod';
import { Id, Instant, Wallet } from '#lib/scalars.ts';
import { TokenAmount } from '../rules.ts';
import { CLAIM_STATES, type ClaimRow } from './rows.ts';

/** UTC days since 1970-01-01. */
export const EpochNumber = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);

const Node = z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits');

/** The longest proof that the program takes. */
const MOST_NODES = 32;

/** A claim as its wallet asks for it: what the proof endpoint answers. */
export const ClaimBody = z
  .strictObject({
    epoch: EpochNumber.meta({ description: 'The epoch: UTC days since 1970-01-01.', example: 20_777 }),
    proof: z.array(Node).max(MOST_NODES).meta({ description: 'The hashes beside the way from the leaf to the root, from the bottom up.' }),
  })
  .meta({ id: 'ClaimRequest', example: { epoch: 20_777, proof: ['5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9'] } });

const Status = z.enum(CLAIM_STATES).meta({
  description:
    'queued: to be signed. submitted: on its way. confirmed: the cluster has voted for it. claimed: final. failed: over without effect, may be asked for again.',
});

/** A claim as it stands. */
export const ClaimReceipt = z
  .strictObject({
    claimId: Id,
    epoch: EpochNumber,
    wallet: Wallet,
    amount: TokenAmount.meta({ description: 'Base units.', example: '2500000' }),
    signature: z.string().nullable().meta({
      description: 'The transaction that did it, or is to do it; null while there is none, or where it is not known whose it was.',
      example: '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW',
    }),
    status: Status,
  })
  .meta({ id: 'ClaimReceipt' });
export type ClaimReceipt = z.output<typeof ClaimReceipt>;

/** A claim, with why it failed and when it changed. */
export const ClaimView = ClaimReceipt.extend({
  reason: z.string().nullable().meta({ description: 'Why it failed.', example: null }),
  requestedAt: Instant,
  changedAt: Instant,
}).meta({ id: 'Claim' });

/** A claim as its receipt. */
export const receiptOf = ({ id, epoch, wallet, amount, signature, state }: ClaimRow): ClaimReceipt => ({
  claimId: id,
  epoch,
  wallet,
  amount,
  signature,
  status: state,
});

/** Which epochs an operator settles off-chain. */
export const SettleRequest = z
  .strictObject({
    epochs: z
      .array(EpochNumber)
      .min(1)
      .max(400)
      .meta({ description: 'Numbers of epochs.', example: [20_777] }),
  })
  .meta({ id: 'SettleRequest' });

/** Epochs that are settled off-chain, or are going to be. */
export const Settlements = z
  .strictObject({
    epochs: z.array(
      z.strictObject({
        epoch: EpochNumber,
        status: z.enum(['settled', 'settling']).meta({ description: 'settling: until the chain has it, finally.' }),
        settledAt: Instant.nullable(),
      }),
    ),
  })
  .meta({ id: 'Settlements', example: { epochs: [{ epoch: 20_777, status: 'settled', settledAt: '2026-11-21T12:00:00.000Z' }] } });
