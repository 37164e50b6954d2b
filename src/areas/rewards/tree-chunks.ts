import { buildTree, HASH_BYTES, proofOf, rootOf } from '#lib/merkle.ts';

/**
 * A stored tree is cut into subtrees of 32 leaves: of each, the hashes of its leaves, and in one piece the roots of all of
 * them. A proof is a path through one subtree, and on through the tree of their roots, which is kept. A kilobyte is stored
 * beside its row: twice as much would be put elsewhere, and would take another look.
 */
export const CHUNK_LEVELS = 5;
export const CHUNK_LEAVES = 2 ** CHUNK_LEVELS;
export const CHUNK_BYTES = CHUNK_LEAVES * HASH_BYTES;

/** The roots of a tree's subtrees. A tree of one subtree has one: its own. */
export const subtreeRoots = (levels: readonly Uint8Array[]): Uint8Array => levels[CHUNK_LEVELS] ?? rootOf(levels);

/**
 * The proof of a leaf.
 * @param chunk the hashes of its subtree's leaves
 * @param top the tree of the subtrees' roots
 */
export function proofThrough(chunk: Uint8Array, top: readonly Uint8Array[], index: number): Uint8Array[] {
  return [...proofOf(buildTree(chunk), index % CHUNK_LEAVES), ...proofOf(top, Math.floor(index / CHUNK_LEAVES))];
}
