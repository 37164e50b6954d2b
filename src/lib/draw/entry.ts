import { hash } from 'node:crypto';
import { z } from 'zod';
import { canonicalize } from '../canonical.ts';
import { buildTree, proofOf, rootOf, verifyProof } from '../merkle.ts';
import { Wallet } from '../scalars.ts';
import { base58Bytes, fromHex, HASH_BYTES, hashOfParts, Millisecond, millis, sha256, u64, utf8, uuidBytes } from './bytes.ts';
import { MAX_RANGE } from './parameters.ts';

/** An entry of a chat round, or a ticket of a legacy round, as published. The leaf hash covers all these fields. */
export const Entry = z.strictObject({
  /** Index of the entry: 0, 1, 2, … in the order of acceptance, without gaps. */
  index: z.int().min(0).max(0xffff_ffff),
  wallet: Wallet,
  /** The numbers of the entry, in ascending order; empty for a ticket. */
  numbers: z.array(z.int().min(1).max(MAX_RANGE)).max(MAX_RANGE),
  /** Origin of the entry: `chat` for the service's own chat, the name of a bridged chat, `chain` for a paid ticket, or `ticket` for a free ticket. */
  source: z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits and hyphens'),
  /** Identifier at the origin: the message id, the transaction signature of a paid ticket, or the id of a free ticket. */
  messageId: z
    .string()
    .min(1)
    .max(256)
    .refine((text) => text.isWellFormed(), 'must be well-formed text'),
  /** Time of acceptance. For a paid ticket, this is the time of the block that contains the payment. */
  at: Millisecond,
});
export type Entry = z.output<typeof Entry>;

const LEAF_TAG = Buffer.concat([Buffer.from([2]), sha256(utf8('coinop/entry/1'))]);
const MAX_PROOF_LENGTH = 32;

/**
 * Returns the leaves of a round's entries, one after the other, 32 bytes each. A leaf is the SHA-256 of these parts (118 bytes plus one byte per
 * number):
 * 0x02 ‖ sha256("coinop/entry/1") ‖ round id, 16 bytes ‖ index u32 ‖ wallet, 32 bytes ‖ count of numbers u8 ‖ the numbers ascending, u8 each ‖
 * message.
 * `message` is the SHA-256 over the length-prefixed parts source, message id, and u64 of the time in ms since 1970.
 * A tree node is the hash of 64 bytes and a leaf of a reward epoch is the hash of 53 bytes, so neither can be confused with an entry leaf.
 */
export function entryLeaves(round: string, entries: readonly Entry[]): Uint8Array {
  const head = Buffer.concat([LEAF_TAG, uuidBytes(round)]);
  const leaves = Buffer.alloc(HASH_BYTES * entries.length);
  // Computes the hash as hex text instead of as a buffer, because allocating one buffer per hash takes longer than computing the hash.
  for (const [i, entry] of entries.entries()) leaves.write(hash('sha256', leafBytes(head, entry), 'hex'), HASH_BYTES * i, 'hex');
  return leaves;
}

function leafBytes(head: Uint8Array, { index, wallet, numbers, source, messageId, at }: Entry): Uint8Array {
  const walletAt = head.length + 4;
  const countAt = walletAt + HASH_BYTES;
  const bytes = Buffer.alloc(countAt + 1 + numbers.length + HASH_BYTES);
  bytes.set(head);
  bytes.writeUInt32LE(index, head.length);
  bytes.set(base58Bytes(wallet), walletAt);
  bytes.writeUInt8(numbers.length, countAt);
  for (const [i, number] of numbers.entries()) bytes.writeUInt8(number, countAt + 1 + i);
  bytes.set(hashOfParts(utf8(source), utf8(messageId), u64(millis(at))), bytes.length - HASH_BYTES);
  return bytes;
}

/** Returns the hex leaf hash of one entry. */
export function entryLeaf(round: string, entry: Entry): string {
  return Buffer.from(entryLeaves(round, [entry])).toString('hex');
}

/**
 * Builds the Merkle tree (src/lib/merkle.ts) over the leaves of a round's entries, ordered by index.
 * @param entries list of all entries of the round, at least one
 */
export function entryTree(round: string, entries: readonly Entry[]): Uint8Array[] {
  return buildTree(entryLeaves(round, entries));
}

/** Returns the hex root of an entry tree. */
export const treeRoot = (tree: readonly Uint8Array[]): string => Buffer.from(rootOf(tree)).toString('hex');

/** Returns the hex leaf hashes of an entry tree, ordered by the index of the entry. */
export function leavesOf(tree: readonly Uint8Array[]): string[] {
  const text = Buffer.from(tree[0] ?? []).toString('hex');
  return Array.from({ length: text.length / (2 * HASH_BYTES) }, (_, i) => text.slice(2 * HASH_BYTES * i, 2 * HASH_BYTES * (i + 1)));
}

/**
 * Returns the hex root of the tree over the leaves that an audit lists.
 * @param leaves list of hex hashes, at least one
 */
export const rootOverLeaves = (leaves: readonly string[]): string => treeRoot(buildTree(fromHex(leaves.join(''))));

/** Returns the hex root of the tree over a round's entries; null when the round has no entries. */
export function entriesRoot(round: string, entries: readonly Entry[]): string | null {
  return entries.length === 0 ? null : treeRoot(entryTree(round, entries));
}

/** The proof that a tree contains an entry: the leaf of the entry, and the sibling hashes from the leaf up to the root. All hashes are hex. */
export interface EntryProof {
  leaf: string;
  proof: string[];
}

/**
 * Returns the proof of the entry at an index.
 * @param tree result of `entryTree`
 */
export function proveEntry(tree: readonly Uint8Array[], index: number): EntryProof {
  const leaf = tree[0]?.subarray(HASH_BYTES * index, HASH_BYTES * (index + 1)) ?? new Uint8Array();
  return { leaf: Buffer.from(leaf).toString('hex'), proof: proofOf(tree, index).map((sibling) => Buffer.from(sibling).toString('hex')) };
}

/** Returns whether a proof shows that the tree with this root contains the entry with exactly these fields. */
export function verifyEntry(root: string, round: string, entry: Entry, proof: readonly string[]): boolean {
  if (proof.length > MAX_PROOF_LENGTH) return false;
  return verifyProof(fromHex(root), fromHex(entryLeaf(round, entry)), proof.map(fromHex));
}

/** Returns an entry as a line of the published NDJSON, without the line feed: its canonical JSON (RFC 8785). */
export function entryLine(entry: Entry): string {
  return canonicalize(entry);
}
