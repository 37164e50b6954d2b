import { buildTree, HASH_BYTES, proofOf, rootOf } from '#lib/merkle.ts';

/**
 * Levels of a stored subtree, which has 32 leaves. A Merkle tree is stored as one row per subtree with its leaf hashes, and one row with the roots of
 * all subtrees. PostgreSQL stores 32 leaf hashes (1 KB) in the row. PostgreSQL would move 64 leaf hashes to a TOAST table (a separate table for large
 * values), so each read would need a second lookup.
 */
export const CHUNK_LEVELS = 5;
export const CHUNK_LEAVES = 2 ** CHUNK_LEVELS;
export const CHUNK_BYTES = CHUNK_LEAVES * HASH_BYTES;

/** Returns the roots of the subtrees of a Merkle tree. A tree of at most 32 leaves has one subtree, whose root is the root of the tree. */
export const subtreeRoots = (levels: readonly Uint8Array[]): Uint8Array => levels[CHUNK_LEVELS] ?? rootOf(levels);

/**
 * Returns the Merkle proof of a leaf.
 * @param chunk leaf hashes of the subtree that contains the leaf
 * @param upperTree the tree of the subtree roots
 * @param index index of the leaf in the whole tree
 */
export function proofThrough(chunk: Uint8Array, upperTree: readonly Uint8Array[], index: number): Uint8Array[] {
  return [...proofOf(buildTree(chunk), index % CHUNK_LEAVES), ...proofOf(upperTree, Math.floor(index / CHUNK_LEAVES))];
}
