/**
 * A Merkle tree over SHA-256 hashes, without the hash function: callers pass the function that hashes pairs, because the service hashes in batches
 * with a native library, and a browser cannot.
 * node = sha256(smaller child ‖ greater child), over 64 bytes.
 * If a level has an odd number of nodes, its last node is also the last node of the next higher level.
 * Hashes are stored one after the other in flat buffers, because then a million hashes need only one allocation.
 */
export const HASH_BYTES = 32;
const PAIR_BYTES = 2 * HASH_BYTES;
const WORDS = HASH_BYTES / 4;

/** Hashes blocks of 64 bytes and writes the hashes to the second buffer, 32 bytes each. */
export type HashPairs = (blocks: Uint8Array, hashes: Uint8Array) => void;

/** Returns whether the left hash of a block is greater than the right one, compared as bytes. */
function isDescending(blocks: Uint8Array, at: number): boolean {
  let i = at;
  const end = at + HASH_BYTES;
  while (i < end && blocks[i] === blocks[i + HASH_BYTES]) i++;
  return i < end && (blocks[i] ?? 0) > (blocks[i + HASH_BYTES] ?? 0);
}

/**
 * Returns the next higher level of the tree: the hashes of the pairs and, if the number of nodes is odd, the last node unchanged.
 * @param blocks scratch space in which each pair is sorted; at least as long as `level`
 */
function levelAbove(level: Uint8Array, blocks: Uint8Array<ArrayBuffer>, hashPairs: HashPairs): Uint8Array {
  const paired = level.length - (level.length % PAIR_BYTES);
  blocks.set(level.subarray(0, paired));
  const words = new Uint32Array(blocks.buffer);
  for (let at = 0; at < paired; at += PAIR_BYTES) {
    if (!isDescending(blocks, at)) continue;
    const left = at / 4;
    for (let i = left; i < left + WORDS; i++) {
      const word = words[i] ?? 0;
      words[i] = words[i + WORDS] ?? 0;
      words[i + WORDS] = word;
    }
  }
  const above = new Uint8Array(paired / 2 + (level.length - paired));
  hashPairs(blocks.subarray(0, paired), above.subarray(0, paired / 2));
  above.set(level.subarray(paired), paired / 2);
  return above;
}

/**
 * Builds a tree and returns its levels: the leaves first, the root last.
 * @param leaves concatenated leaf hashes, 32 bytes each, at least one
 */
export function levelsOf(leaves: Uint8Array, hashPairs: HashPairs): Uint8Array[] {
  if (leaves.length === 0 || leaves.length % HASH_BYTES !== 0) throw new Error('a tree needs at least one leaf hash, 32 bytes each');
  const levels = [leaves];
  const blocks = new Uint8Array(leaves.length);
  for (let level = leaves; level.length > HASH_BYTES; ) {
    level = levelAbove(level, blocks, hashPairs);
    levels.push(level);
  }
  return levels;
}

/** Returns the root of a tree from `levelsOf`, 32 bytes. */
export function rootOf(levels: readonly Uint8Array[]): Uint8Array {
  const root = levels.at(-1);
  if (root?.length !== HASH_BYTES) throw new Error('these levels have no root');
  return root;
}

/** Returns the proof of a leaf: the sibling hashes from the leaf up to the root. A level at which the node has no sibling adds no hash. */
export function proofOf(levels: readonly Uint8Array[], index: number): Uint8Array[] {
  if (index < 0 || index >= (levels[0]?.length ?? 0) / HASH_BYTES) throw new Error(`there is no leaf ${index}`);
  const proof: Uint8Array[] = [];
  let at = index;
  for (const level of levels.slice(0, -1)) {
    const sibling = (at ^ 1) * HASH_BYTES;
    if (sibling < level.length) proof.push(level.subarray(sibling, sibling + HASH_BYTES));
    at >>>= 1;
  }
  return proof;
}
