import { ed25519 } from '@noble/curves/ed25519.js';
import { z } from 'zod';
import { canonicalize } from '../canonical.ts';
import { Wallet } from '../scalars.ts';
import { base58Bytes, fromHex, Hash, Millisecond, RoundId, SignatureHex, toHex, utf8 } from './bytes.ts';
import { Entry, entryLeaf } from './entry.ts';

const shared = {
  /** Address of the draws account whose receipt key signs the statement. */
  draws: Wallet,
  round: RoundId,
  /** Hash of the round's parameters. */
  parametersHash: Hash,
};

/** Announces a round when it opens. */
export const Announcement = z.strictObject({
  type: z.literal('coinop/announcement/1'),
  ...shared,
  announcedAt: Millisecond,
});
export type Announcement = z.output<typeof Announcement>;

/** Confirms an accepted entry: all published fields of the entry, its leaf, and the running hash, which covers all entries up to this one. */
export const ReceiptStatement = z.strictObject({
  type: z.literal('coinop/receipt/1'),
  ...shared,
  /** Id of the entry. */
  entry: RoundId,
  ...Entry.shape,
  leaf: Hash,
  /** Running hash after this entry. */
  runningHash: Hash,
});
export type ReceiptStatement = z.output<typeof ReceiptStatement>;

/** States the entries of a round when it closes: their number and the running hash after the last entry. */
export const Closed = z.strictObject({
  type: z.literal('coinop/closed/1'),
  ...shared,
  closedAt: Millisecond,
  count: z.int().min(0).max(0xffff_ffff),
  runningHash: Hash,
});
export type Closed = z.output<typeof Closed>;

export const Statement = z.discriminatedUnion('type', [Announcement, ReceiptStatement, Closed]);
export type Statement = z.output<typeof Statement>;

/** A statement with the ed25519 signature of the receipt key over the UTF-8 bytes of the statement's canonical JSON (RFC 8785). */
export const SignedAnnouncement = z.strictObject({ statement: Announcement, signature: SignatureHex });
export type SignedAnnouncement = z.output<typeof SignedAnnouncement>;
export const Receipt = z.strictObject({ statement: ReceiptStatement, signature: SignatureHex });
export type Receipt = z.output<typeof Receipt>;
export const SignedClosed = z.strictObject({ statement: Closed, signature: SignatureHex });
export type SignedClosed = z.output<typeof SignedClosed>;

/** Returns the bytes that are signed. */
export const statementBytes = (statement: Statement): Uint8Array => utf8(canonicalize(statement));

/**
 * Signs a statement.
 * @param sign returns the ed25519 signature of the bytes, 64 bytes; the service signs with the native library, which is faster
 */
export function signStatement<Content extends Statement>(
  statement: Content,
  sign: (bytes: Uint8Array) => Uint8Array,
): { statement: Content; signature: string } {
  return { statement, signature: toHex(Uint8Array.from(sign(statementBytes(statement)))) };
}

/**
 * Returns whether the receipt key signed the statement. Accepts only what RFC 8032 accepts strictly.
 * @param receiptKey public key, base58
 */
export function verifyStatement(
  receiptKey: string,
  { statement, signature }: { readonly statement: Statement; readonly signature: string },
): boolean {
  try {
    return ed25519.verify(fromHex(signature), statementBytes(statement), base58Bytes(receiptKey), { zip215: false });
  } catch {
    return false;
  }
}

/** Returns the statement of a receipt. @param id id of the entry; `runningHash`: the running hash after the entry, hex */
export function receiptStatement(
  { draws, round, parametersHash }: { readonly draws: string; readonly round: string; readonly parametersHash: string },
  id: string,
  { index, wallet, numbers, source, messageId, at }: Entry,
  runningHash: string,
): ReceiptStatement {
  const entry = { index, wallet, numbers: [...numbers], source, messageId, at };
  return { type: 'coinop/receipt/1', draws, round, parametersHash, entry: id, ...entry, leaf: entryLeaf(round, entry), runningHash };
}

/** Returns the entry that a receipt confirms. */
export function entryOf({ index, wallet, numbers, source, messageId, at }: ReceiptStatement): Entry {
  return { index, wallet, numbers, source, messageId, at };
}
