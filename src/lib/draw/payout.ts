import { z } from 'zod';
import { Wallet } from '../scalars.ts';
import { base58Bytes, concatBytes, prefixed, RoundId, sha256, toHex, Units, u32, u64, utf8, uuidBytes } from './bytes.ts';

const LABEL = 'coinop/payout/1';
const NO_ROUND = '00000000-0000-0000-0000-000000000000';

/** A member of a batch of payments, as published. The i-th member of a batch is the i-th token transfer of the batch's transaction. */
export const PayoutMember = z
  .strictObject({
    paymentId: RoundId.meta({ description: 'Id of the payment.', example: '4dc1b0de-7d3f-8a5c-9f0e-1f2d3c4b5a69' }),
    /** The round and the place of the prize; both null for a payment that is not a prize. */
    round: RoundId.nullable(),
    place: z.int().min(1).max(0xffff_ffff).nullable(),
    wallet: Wallet,
    amount: Units,
    mint: Wallet,
  })
  .refine(({ round, place }) => (round === null) === (place === null), { path: ['place'], error: 'must be null exactly when round is null' });
export type PayoutMember = z.output<typeof PayoutMember>;

/**
 * Returns the hash over the members of a batch in their order, hex: SHA-256 of the length-prefixed text "coinop/payout/1", the number of members
 * u32, and 108 bytes per member without length prefixes: payment id, round id (16 bytes each), place u32, wallet (32 bytes), amount u64, mint (32
 * bytes). A payment that is not a prize has 16 zero bytes as round id and the place 0.
 */
export function membersHash(members: readonly PayoutMember[]): string {
  const parts = members.flatMap(({ paymentId, round, place, wallet, amount, mint }) => [
    uuidBytes(paymentId),
    uuidBytes(round ?? NO_ROUND),
    u32(place ?? 0),
    base58Bytes(wallet),
    u64(BigInt(amount)),
    base58Bytes(mint),
  ]);
  return toHex(sha256(concatBytes(prefixed(utf8(LABEL)), u32(members.length), ...parts)));
}

/** Prefix of the memo of every transaction that pays a batch. */
export const PAYOUT_PREFIX = 'coinop:payout:';
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const MEMO = new RegExp(`^${PAYOUT_PREFIX}(${uuid}):([0-9a-f]{64})$`);

/** Returns the memo that names a batch on the chain by its id and the hash over its members. */
export const payoutMemo = (batch: string, hash: string): string => `${PAYOUT_PREFIX}${batch}:${hash}`;

/** Parses the memo of a batch into the batch id and the hash over its members. Returns null for any other memo. */
export function readPayoutMemo(text: string): { batch: string; hash: string } | null {
  const [, batch, hash] = MEMO.exec(text) ?? [];
  return batch !== undefined && hash !== undefined ? { batch, hash } : null;
}

const TransactionSignature = z.string().min(64).max(88);

/**
 * The published payments of a round's prizes. `signature`: the transaction that pays the prize; null until it is finalized, and for a prize that
 * another service pays. `batch`: the id of the batch that the transaction pays.
 * `batches`: all members of each named batch, also members of other rounds.
 */
export const PublishedPayouts = z.object({
  round: RoundId,
  payouts: z
    .array(
      z.object({
        place: z.int().min(1).max(0xffff_ffff),
        wallet: Wallet,
        amount: Units,
        mint: Wallet,
        paymentId: RoundId,
        signature: TransactionSignature.nullable(),
        batch: RoundId.nullable(),
      }),
    )
    .max(100),
  batches: z.array(z.object({ id: RoundId, members: z.array(PayoutMember).min(1).max(64) })).max(100),
});
export type PublishedPayouts = z.output<typeof PublishedPayouts>;
