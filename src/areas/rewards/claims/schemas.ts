import { z } from 'zod';
import { Id, Instant, Wallet } from '#lib/scalars.ts';
import { TokenAmount } from '../rules.ts';
import { CLAIM_STATES, type ClaimRow } from './rows.ts';

/** An epoch number: UTC days since 1970-01-01. */
const EpochNumber = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);

const Node = z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits');

/** Maximum number of hashes in a proof that the program accepts. */
const MAX_NODES = 32;

/** The body of a claim request: the epoch and the proof. The proof endpoint returns both values. */
export const ClaimBody = z
  .strictObject({
    epoch: EpochNumber.meta({ description: 'The epoch: UTC days since 1970-01-01.', example: 20_777 }),
    proof: z.array(Node).max(MAX_NODES).meta({ description: 'Sibling hashes from the leaf to the root, SHA-256 in hex.' }),
  })
  .meta({ id: 'ClaimRequest', example: { epoch: 20_777, proof: ['5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9'] } });

const Status = z.enum(CLAIM_STATES).meta({
  description:
    'queued: not signed yet. submitted: sent to the chain. confirmed: the transaction is confirmed but not finalized. claimed: finalized. ' +
    'failed: the reward was not paid; the wallet can request the claim again.',
});

/** The state of a claim, as the response to a claim request returns it. */
export const ClaimReceipt = z
  .strictObject({
    claimId: Id,
    epoch: EpochNumber,
    wallet: Wallet,
    amount: TokenAmount.meta({ description: 'Amount of the reward, base units.', example: '2500000' }),
    signature: z.string().nullable().meta({
      description: 'Signature of the transaction that claims or claimed the reward; null while there is no transaction or its signature is unknown.',
      example: '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW',
    }),
    status: Status,
  })
  .meta({ id: 'ClaimReceipt' });
export type ClaimReceipt = z.output<typeof ClaimReceipt>;

/** A claim with the reason of its failure and its times. */
export const ClaimView = ClaimReceipt.extend({
  reason: z.string().nullable().meta({ description: 'Reason why the claim failed; null when it has not failed.', example: null }),
  requestedAt: Instant,
  changedAt: Instant,
}).meta({ id: 'Claim' });

/** Converts the row of a claim to the receipt that the API returns. */
export const receiptOf = ({ id, epoch, wallet, amount, signature, state }: ClaimRow): ClaimReceipt => ({
  claimId: id,
  epoch,
  wallet,
  amount,
  signature,
  status: state,
});

/** The request to settle epochs off-chain. */
export const SettleRequest = z
  .strictObject({
    epochs: z
      .array(EpochNumber)
      .min(1)
      .max(400)
      .meta({ description: 'Epoch numbers: UTC days since 1970-01-01.', example: [20_777] }),
    root: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')
      .optional()
      .meta({
        description:
          'Root of the epoch on the chain, hex. Only for one epoch: settles this root although the database has another root. The error 409 names the root.',
        example: '2f7a9c1be0d34455a8d0c6a1f1f0e7b3c9a2d4e6f8091a2b3c4d5e6f70819293',
      }),
  })
  .refine(({ epochs, root }) => root === undefined || epochs.length === 1, { path: ['root'], message: 'must be given with one epoch only' })
  .meta({ id: 'SettleRequest' });

/** The given epochs, each settled off-chain or being settled. */
export const Settlements = z
  .strictObject({
    epochs: z.array(
      z.strictObject({
        epoch: EpochNumber,
        status: z.enum(['settled', 'settling']).meta({ description: 'settling: the epoch can still change on the chain.' }),
        settledAt: Instant.nullable(),
      }),
    ),
  })
  .meta({ id: 'Settlements', example: { epochs: [{ epoch: 20_777, status: 'settled', settledAt: '2026-11-21T12:00:00.000Z' }] } });
