import { z } from 'zod';
import { decodeBase58, Wallet } from '../scalars.ts';
import { QUICKNET, SCHEME } from './beacon-chain.ts';
import { Hash, Millisecond, RoundId } from './bytes.ts';
import { NUMBERS_LABEL } from './numbers.ts';
import { Prize, RoundParameters } from './parameters.ts';
import { TICKET_LABEL } from './winners.ts';

/**
 * Reasons for a void round. A verifier can check each reason, except the 24 h of `no-beacon`.
 * - `no-entries`: the round has no entries.
 * - `late-block`: the block of the commitment was too late for the beacon round that the commitment names.
 * - `no-beacon`: no signature of the beacon round that the commitment names was available within 24 h.
 * - `entries-differ`: the published entries do not match the root in the commitment.
 */
const VOID_REASONS = ['no-entries', 'late-block', 'no-beacon', 'entries-differ'] as const;
export const VoidReason = z.enum(VOID_REASONS);
export type VoidReason = z.output<typeof VoidReason>;

const base58Of = (bytes: number, example: string) =>
  z
    .string()
    .refine((text) => decodeBase58(text)?.length === bytes, `must be base58 of ${bytes} bytes`)
    .meta({ example });

/** A commitment in a finalized block of the chain. */
export const LandedCommitment = z.strictObject({
  memo: z.string().max(566),
  /** Public key that signed the commitment, and the signature of the commitment's transaction. */
  committer: Wallet,
  signature: base58Of(64, '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv'),
  slot: z.int().min(0),
  blockhash: base58Of(32, 'EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N'),
  /** Time of the block; always whole seconds. */
  blockTime: Millisecond,
});
export type LandedCommitment = z.output<typeof LandedCommitment>;

const Raw = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,19})$/, 'must be a u64 in decimal')
  .meta({ example: '5758698256769163447' });
const Natural = z.int().min(0);

const Draw = z.strictObject({ counter: Natural, bound: z.int().min(1), raw: Raw, rejected: z.array(Raw), value: Natural });

const AuditWinner = z.strictObject({
  place: z.int().min(1),
  index: Natural,
  wallet: Wallet,
  matches: z.int().min(1).nullable(),
  tie: Hash.nullable(),
  prize: Prize,
  /** The leaf of the winning entry, and the proof from this leaf to the root. */
  leaf: Hash,
  proof: z.array(Hash).max(32),
});

/**
 * The public audit of a round: every input, intermediate value and result of its draw. The audit and the published entries are sufficient to repeat
 * the draw.
 * `commitment`, `beacon`, `draw` and `winners` are null before the round has these values. In a void round they may stay null.
 */
export const Audit = z.strictObject({
  /** Version of this schema and of all byte formats in src/lib/draw. */
  version: z.literal(1),
  round: RoundId,
  void: VoidReason.nullable(),
  parameters: RoundParameters,
  parametersHash: Hash,
  /** The frozen entries: their number, and the root of their tree. The root is null when there are no entries. */
  entries: z.strictObject({ count: Natural, root: Hash.nullable() }),
  /**
   * The landed commitment. The memo of the commitment determines these values:
   * - `sequence`: the sequence number.
   * - `previous`: the hash of the previous commitment.
   * - `hash`: the hash of this commitment. The next commitment contains this hash as its `previous`.
   */
  commitment: LandedCommitment.extend({ sequence: z.int().min(1), previous: Hash, hash: Hash }).nullable(),
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
  /** The leaf hash of each entry, ordered by the index of the entry. This is the last field of the audit, so that a writer can stream a long list. */
  entryHashes: z.array(Hash),
});
export type Audit = z.output<typeof Audit>;
