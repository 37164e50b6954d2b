import { createHash, randomBytes } from 'node:crypto';
import { PublicKey } from '@solana/web3.js';
import { MerkleTree } from 'merkletreejs';

export interface TreeClaim {
  readonly wallet: PublicKey;
  readonly amount: bigint;
}

/** A tree of claims, with the fields of its epoch. */
export interface EpochTree {
  readonly epoch: bigint;
  readonly root: Buffer;
  readonly leaves: number;
  readonly total: bigint;
  claim(index: number): TreeClaim;
  proof(index: number): Buffer[];
}

export const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** Returns the 53 bytes that are hashed for a leaf. */
export function leafBytes(epoch: bigint, index: number, { wallet, amount }: TreeClaim): Buffer {
  const bytes = Buffer.alloc(53);
  bytes.writeBigUInt64LE(epoch, 1);
  bytes.writeUInt32LE(index, 9);
  wallet.toBuffer().copy(bytes, 13);
  bytes.writeBigUInt64LE(amount, 45);
  return bytes;
}

export const nodeOf = (a: Buffer, b: Buffer): Buffer => sha256(Buffer.concat(Buffer.compare(a, b) < 0 ? [a, b] : [b, a]));

/** Returns claims of random wallets with the amounts 1,000, 1,001, … */
export const wallets = (count: number): TreeClaim[] =>
  Array.from({ length: count }, (_, i) => ({ wallet: new PublicKey(randomBytes(32)), amount: 1_000n + BigInt(i) }));

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`the index ${index} is out of range`);
  return value;
}

/** Builds a tree with merkletreejs, an implementation independent of the service. */
export function treeOf(claims: readonly TreeClaim[], epoch: bigint): EpochTree {
  const hashes = claims.map((claim, index) => sha256(leafBytes(epoch, index, claim)));
  const tree = new MerkleTree(hashes, sha256, { sortPairs: true });
  return {
    epoch,
    root: tree.getRoot(),
    leaves: claims.length,
    total: claims.reduce((sum, { amount }) => sum + amount, 0n),
    claim: (index) => at(claims, index),
    proof: (index) => tree.getProof(at(hashes, index), index).map(({ data }) => data),
  };
}

/** Builds a tree of which only one path is known, for indexes and depths that would need millions of leaves. */
export function treeOfPath(path: { index: number; claim: TreeClaim; depth: number; leaves: number; total?: bigint; epoch?: bigint }): EpochTree {
  const { index, claim, epoch = 1n } = path;
  const proof = Array.from({ length: path.depth }, (_, level) => sha256(Buffer.from(`sibling ${level}`)));
  return {
    epoch,
    root: proof.reduce(nodeOf, sha256(leafBytes(epoch, index, claim))),
    leaves: path.leaves,
    total: path.total ?? claim.amount,
    claim: () => claim,
    proof: () => proof,
  };
}

/**
 * Extends a tree as the first part of a larger tree.
 * @param above additional nodes in each proof
 * @param leaves number of leaves of the larger tree
 */
export function deepened(plan: EpochTree, above: number, leaves: number): EpochTree {
  const siblings = Array.from({ length: above }, (_, level) => sha256(Buffer.from(`sibling above ${level}`)));
  return { ...plan, leaves, root: siblings.reduce(nodeOf, plan.root), proof: (index) => [...plan.proof(index), ...siblings] };
}
