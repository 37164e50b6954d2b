import { z } from 'zod';
import { Wallet } from '../scalars.ts';
import { QUICKNET, SCHEME } from './beacon-chain.ts';
import { Hash, Millisecond, RoundId, Second } from './bytes.ts';
import { NUMBERS_LABEL } from './numbers.ts';
import { Prize, RoundParameters } from './parameters.ts';
import { SignedAnnouncement, SignedClosed } from './statements.ts';
import { TICKET_LABEL } from './winners.ts';

/** The only reason for a void round: the round has no entries. A committed round is always drawn. */
export const VoidReason = z.enum(['no-entries']);
export type VoidReason = z.output<typeof VoidReason>;

const Natural = z.int().min(0);

/** A commitment account of the program `draws`, and the block of its slot. */
export const LandedCommitment = z.strictObject({
  /** Address of the account. */
  account: Wallet,
  beaconRound: z
    .int()
    .min(1)
    .max(2 ** 32),
  slot: Natural,
  /** Time of the chain's clock when the commitment was made; always whole seconds. */
  at: Second,
  /** Leaf of the round. */
  leaf: Hash,
  /** Hash of the block in the slot, base58; null until the block is finalized. */
  blockhash: Wallet.nullable().meta({ example: 'EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N' }),
});
export type LandedCommitment = z.output<typeof LandedCommitment>;

const Raw = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,19})$/, 'must be a u64 in decimal')
  .meta({ example: '5758698256769163447' });

const Draw = z.strictObject({ counter: Natural, bound: z.int().min(1), raw: Raw, rejected: z.array(Raw), value: Natural });

const AuditWinner = z.strictObject({
  place: z.int().min(1),
  index: Natural,
  wallet: Wallet,
  matches: z.int().min(1).nullable(),
  tie: Hash.nullable(),
  prize: Prize,
});

/**
 * The public audit of a round: every input, intermediate value and result of its draw. The audit, the published entries and the chain are sufficient
 * to repeat the draw.
 * `commitment`, `beacon`, `draw` and `winners` are null before the round has these values. In a void round they stay null.
 */
export const Audit = z.strictObject({
  /** Version of this schema and of all byte formats in src/lib/draw. */
  version: z.literal(2),
  round: RoundId,
  void: VoidReason.nullable(),
  parameters: RoundParameters,
  parametersHash: Hash,
  announcement: SignedAnnouncement,
  closed: SignedClosed,
  /** The frozen entries: their number, the root of their tree (null when there are no entries), and the running hash after the last entry. */
  entries: z.strictObject({ count: Natural, root: Hash.nullable(), runningHash: Hash }),
  commitment: LandedCommitment.nullable(),
  beacon: z
    .strictObject({
      chainHash: Hash,
      scheme: z.literal(SCHEME),
      publicKey: z
        .string()
        .regex(/^[0-9a-f]{192}$/)
        .meta({ example: QUICKNET.publicKey }),
      period: z.int().min(1),
      genesisTime: Natural,
      groupHash: Hash,
      beaconId: z.string().max(64),
      round: z.int().min(1),
      dueAt: Millisecond,
      signature: z
        .string()
        .regex(/^[0-9a-f]{96}$/)
        .meta({ example: 'b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39' })
        .nullable(),
      randomness: Hash.nullable(),
    })
    .nullable(),
  draw: z
    .strictObject({
      seed: Hash,
      label: z.enum([NUMBERS_LABEL, TICKET_LABEL]),
      draws: z.array(Draw),
      drawn: z.array(Natural),
      numbers: z.array(Natural),
    })
    .nullable(),
  winners: z.array(AuditWinner).nullable(),
});
export type Audit = z.output<typeof Audit>;

/** The audit as a house publishes it: with the leaves of all entries, ordered by index. The leaves follow from the entries, so a copy may lack them. */
export const PublishedAudit = Audit.extend({ entryHashes: z.array(Hash).optional() });
export type PublishedAudit = z.output<typeof PublishedAudit>;
