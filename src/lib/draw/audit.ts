import { z } from 'zod';
import { decodeBase58, Wallet } from '../scalars.ts';
import { QUICKNET, SCHEME } from './beacon-chain.ts';
import { Hash, Millisecond, RoundId } from './bytes.ts';
import { NUMBERS_LABEL } from './numbers.ts';
import { Prize, RoundParameters } from './parameters.ts';
import { TICKET_LABEL } from './winners.ts';

/**
 * Why a round may be void, each for a verifier to check: nobody entered; the commitment's block came too late for its beacon round; no
 * signature of that round could be had within 24 h; the published entries are not those of the root that was committed to.
 */
export const VOID_REASONS = ['no-entries', 'late-block', 'no-beacon', 'entries-differ'] as const;
export const VoidReason = z.enum(VOID_REASONS);
export type VoidReason = z.output<typeof VoidReason>;

const base58Of = (bytes: number, example: string) =>
  z
    .string()
    .refine((text) => decodeBase58(text)?.length === bytes, `must be base58 of ${bytes} bytes`)
    .meta({ example });

/** A commitment as it stands on the chain, in a finalized block. */
export const LandedCommitment = z.strictObject({
  memo: z.string().max(566),
  /** The key that signed it, and its signature. */
  committer: Wallet,
  signature: base58Of(64, '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv'),
  slot: z.int().min(0),
  blockhash: base58Of(32, 'EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N'),
  /** The block's time, whole seconds. */
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
  /** The winning entry's, and its way up to the root. */
  leaf: Hash,
  proof: z.array(Hash).max(32),
});

/**
 * All that a stranger needs to draw a round again, beside its entries: each value that went in, each that came out, and those in
 * between. Later parts are null until the round has come that far; in a void round those that do not exist stay null.
 */
export const Audit = z.strictObject({
  /** Of this shape, and of everything that src/lib/draw says about bytes. */
  version: z.literal(1),
  round: RoundId,
  void: VoidReason.nullable(),
  parameters: RoundParameters,
  parametersHash: Hash,
  /** As they were frozen; no root where there are none. */
  entries: z.strictObject({ count: Natural, root: Hash.nullable() }),
  /** What landed, and what it says: its place in the sequence, the commitment before, and its hash, which the next one names. */
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
      genesisTime: z.int(),
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
  /** The leaf of each entry, by index. Last, because there may be many: whoever writes an audit may stream them. */
  entryHashes: z.array(Hash),
});
export type Audit = z.output<typeof Audit>;
