import { hash as digest } from 'node:crypto';
import { MerkleTree } from 'merkletreejs';
import { HASH_BYTES, type HashPairs, levelsOf } from './tree.ts';

export { HASH_BYTES, proofOf, rootOf } from './tree.ts';

/**
 * The Merkle tree of reward epochs, byte for byte as the on-chain program verifies it (programs/distributor/README.md).
 * leaf = sha256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet, 32 bytes ‖ amount u64 LE), over 53 bytes.
 * The nodes are those of src/lib/tree.ts, each the hash of 64 bytes, so a leaf cannot be confused with a node.
 */
export const WALLET_BYTES = 32;
const LEAF_BYTES = 53;
const INDEX_AT = 9;
const WALLET_AT = 13;
const AMOUNT_AT = 45;
const PAIR_BYTES = 2 * HASH_BYTES;

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

/**
 * Builds a tree and returns its levels: the leaves first, the root last.
 * @param leaves concatenated leaf hashes, 32 bytes each, at least one
 */
export const buildTree = (leaves: Uint8Array): Uint8Array[] => levelsOf(leaves, hashPairs);

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
