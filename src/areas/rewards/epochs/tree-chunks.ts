import { buildTree, HASH_BYTES, proofOf, rootOf } from '#lib/merkle.ts';

/**
 * Levels of a stored subtree. A Merkle tree is stored as subtrees of 32 leaves: one row per subtree with its leaf hashes, and one row with the roots
 * of all subtrees. A proof is a path through one subtree, followed by a path through the cached tree of the subtree roots. The leaf hashes of a
 * subtree take 1 KB, so PostgreSQL stores them in the row. It would move 2 KB to a TOAST table, which costs a second lookup.
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
