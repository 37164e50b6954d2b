import { z } from 'zod';
import { canonicalize } from '../canonical.ts';
import { Wallet } from '../scalars.ts';
import { levelsOf, proofOf, rootOf } from '../tree.ts';
import {
  base58Bytes,
  concatBytes,
  fromHex,
  HASH_BYTES,
  hashOfParts,
  Millisecond,
  millis,
  sha256,
  toHex,
  u32,
  u64,
  utf8,
  uuidBytes,
} from './bytes.ts';
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
  /** Time of acceptance. The times of a round's entries never decrease. */
  at: Millisecond,
});
export type Entry = z.output<typeof Entry>;

const LEAF_TAG = concatBytes(Uint8Array.of(2), sha256(utf8('coinop/entry/1')));
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
  const head = concatBytes(LEAF_TAG, uuidBytes(round));
  const leaves = new Uint8Array(HASH_BYTES * entries.length);
  for (const [i, entry] of entries.entries()) leaves.set(sha256(leafBytes(head, entry)), HASH_BYTES * i);
  return leaves;
}

function leafBytes(head: Uint8Array, { index, wallet, numbers, source, messageId, at }: Entry): Uint8Array {
  const message = hashOfParts(utf8(source), utf8(messageId), u64(millis(at)));
  return concatBytes(head, u32(index), base58Bytes(wallet), Uint8Array.of(numbers.length, ...numbers), message);
}

/** Returns the hex leaf hash of one entry. */
export const entryLeaf = (round: string, entry: Entry): string => toHex(entryLeaves(round, [entry]));

const node = (left: Uint8Array, right: Uint8Array): Uint8Array => sha256(concatBytes(...(isGreater(left, right) ? [right, left] : [left, right])));

function isGreater(left: Uint8Array, right: Uint8Array): boolean {
  const at = left.findIndex((byte, i) => byte !== right[i]);
  return at >= 0 && (left[at] ?? 0) > (right[at] ?? 0);
}

function hashPairs(blocks: Uint8Array, hashes: Uint8Array): void {
  for (let i = 0; i < hashes.length; i += HASH_BYTES) hashes.set(sha256(blocks.subarray(2 * i, 2 * (i + HASH_BYTES))), i);
}

/**
 * Builds the Merkle tree (src/lib/tree.ts) over the leaves of a round's entries.
 * @param leaves result of `entryLeaves` for all entries of the round, at least one
 */
export const entryTree = (leaves: Uint8Array): Uint8Array[] => levelsOf(leaves, hashPairs);

/** Returns the hex root of an entry tree. */
export const treeRoot = (tree: readonly Uint8Array[]): string => toHex(rootOf(tree));

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
  return { leaf: toHex(leaf), proof: proofOf(tree, index).map(toHex) };
}

/** Returns whether a proof shows that the tree with this root contains the entry with exactly these fields. */
export function verifyEntry(root: string, round: string, entry: Entry, proof: readonly string[]): boolean {
  if (proof.length > MAX_PROOF_LENGTH) return false;
  return toHex(proof.map(fromHex).reduce(node, entryLeaves(round, [entry]))) === root;
}

/** Returns an entry as a line of the published NDJSON, without the line feed: its canonical JSON (RFC 8785). */
export function entryLine(entry: Entry): string {
  return canonicalize(entry);
}
