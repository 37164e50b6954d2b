import { hash as digest } from 'node:crypto';
import { MerkleTree } from 'merkletreejs';

/**
 * The Merkle tree of reward epochs, byte for byte as the on-chain program verifies it (programs/distributor/README.md).
 * leaf = sha256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet, 32 bytes ‖ amount u64 LE), over 53 bytes.
 * node = sha256(smaller child ‖ greater child), over 64 bytes, so a leaf cannot be confused with a node.
 * If a level has an odd number of nodes, its last node is also the last node of the next higher level.
 * Hashes are stored one after the other in flat buffers, because then a million hashes need only one allocation.
 */
export const HASH_BYTES = 32;
export const WALLET_BYTES = 32;
const LEAF_BYTES = 53;
const INDEX_AT = 9;
const WALLET_AT = 13;
const AMOUNT_AT = 45;
const PAIR_BYTES = 2 * HASH_BYTES;
const WORDS = HASH_BYTES / 4;

/** A leaf: the amount that an epoch owes to a wallet. */
export interface Leaf {
  /** Number of the epoch: UTC days since 1970-01-01. */
  readonly epoch: number;
  readonly index: number;
  /** 32 bytes. */
  readonly wallet: Uint8Array;
  /** Base units, at most 2^64 − 1. */
  readonly amount: bigint;
}

type HashPairs = (blocks: Uint8Array, hashes: Uint8Array) => void;

const hashPairsOneByOne: HashPairs = (blocks, hashes) => {
  const out = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length);
  for (let i = 0; i < hashes.length; i += HASH_BYTES) out.write(digest('sha256', blocks.subarray(2 * i, 2 * i + PAIR_BYTES), 'hex'), i, 'hex');
};

/**
 * Hashes many blocks of 64 bytes with SHA-256. If the native batch hasher has no build for this operating system and processor, blocks are hashed one
 * by one.
 */
const hashPairs: HashPairs = await import('@chainsafe/hashtree').then(
  (native) => native.hashInto,
  () => hashPairsOneByOne,
);

/**
 * Hashes leaves with consecutive indexes.
 * @param firstIndex index of the first leaf
 * @param wallets public keys, 32 bytes each
 * @param amounts base units, one amount per wallet
 * @param into buffer to which the hashes are written, 32 bytes each
 */
export function hashLeaves(epoch: number, firstIndex: number, wallets: Uint8Array, amounts: BigUint64Array, into: Uint8Array): void {
  const leaf = Buffer.alloc(LEAF_BYTES);
  const out = Buffer.from(into.buffer, into.byteOffset, into.length);
  leaf.writeBigUInt64LE(BigInt(epoch), 1);
  for (const [i, amount] of amounts.entries()) {
    leaf.writeUInt32LE(firstIndex + i, INDEX_AT);
    leaf.set(wallets.subarray(i * WALLET_BYTES, (i + 1) * WALLET_BYTES), WALLET_AT);
    leaf.writeBigUInt64LE(amount, AMOUNT_AT);
    // Computes the hash as hex text instead of as a buffer, because allocating one buffer per hash takes twice as long as computing the hash.
    out.write(digest('sha256', leaf, 'hex'), i * HASH_BYTES, 'hex');
  }
}

/** Returns the hash of one leaf, 32 bytes. */
export function leafHash({ epoch, index, wallet, amount }: Leaf): Uint8Array {
  const into = new Uint8Array(HASH_BYTES);
  hashLeaves(epoch, index, wallet, BigUint64Array.of(amount), into);
  return into;
}

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
function levelAbove(level: Uint8Array, blocks: Uint8Array): Uint8Array {
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
export function buildTree(leaves: Uint8Array): Uint8Array[] {
  if (leaves.length === 0 || leaves.length % HASH_BYTES !== 0) throw new Error('a tree needs at least one leaf hash, 32 bytes each');
  const levels = [leaves];
  const blocks = new Uint8Array(leaves.length);
  for (let level = leaves; level.length > HASH_BYTES; ) {
    level = levelAbove(level, blocks);
    levels.push(level);
  }
  return levels;
}

/** Returns the root of a tree from `buildTree`, 32 bytes. */
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

/** Computes the root from a leaf and its proof. */
export function rootFromProof(leaf: Uint8Array, proof: readonly Uint8Array[]): Uint8Array {
  let node = leaf;
  for (const sibling of proof) node = digest('sha256', Buffer.concat([node, sibling].sort(Buffer.compare)), 'buffer');
  return node;
}

/** Returns whether a proof connects a leaf to a root. */
export const verifyProof = (root: Uint8Array, leaf: Uint8Array, proof: readonly Uint8Array[]): boolean =>
  Buffer.compare(rootFromProof(leaf, proof), root) === 0;

/** Verifies a proof with merkletreejs, which is an implementation independent of this file. Used for proofs that clients send. */
export function verifyWithMerkletreejs(root: Uint8Array, leaf: Uint8Array, proof: readonly Uint8Array[]): boolean {
  const sha256 = (data: Uint8Array) => digest('sha256', data, 'buffer');
  const siblings = proof.map((sibling) => Buffer.from(sibling));
  return MerkleTree.verify(siblings, Buffer.from(leaf), Buffer.from(root), sha256, { sortPairs: true });
}
