import { buildTree, HASH_BYTES, proofOf, rootOf } from '#lib/merkle.ts';

/**
 * Levels of a stored subtree. A tree is stored as subtrees of 32 leaves: one row per subtree with its leaf hashes, and one row
 * with the roots of all subtrees. A proof joins a path in one subtree and a path in the cached tree of the roots.
 * A row of 1 KB stays inline in its page; PostgreSQL would move 2 KB to a TOAST table, which costs a second lookup.
 */
export const CHUNK_LEVELS = 5;
export const CHUNK_LEAVES = 2 ** CHUNK_LEVELS;
export const CHUNK_BYTES = CHUNK_LEAVES * HASH_BYTES;

/** Returns the roots of a tree's subtrees. A tree of at most 32 leaves has one subtree. */
export const subtreeRoots = (levels: readonly Uint8Array[]): Uint8Array => levels[CHUNK_LEVELS] ?? rootOf(levels);

/**
 * Returns the proof of a leaf.
 * @param chunk leaf hashes of its subtree
 * @param upperTree the tree of the subtree roots
 */
export function proofThrough(chunk: Uint8Array, upperTree: readonly Uint8Array[], index: number): Uint8Array[] {
  return [...proofOf(buildTree(chunk), index % CHUNK_LEAVES), ...proofOf(upperTree, Math.floor(index / CHUNK_LEAVES))];
}
