import { createHash, randomBytes } from 'node:crypto';
import { PublicKey } from '@solana/web3.js';
import { MerkleTree } from 'merkletreejs';

export interface Claim {
  readonly wallet: PublicKey;
  readonly amount: bigint;
}

/** A tree of claims, and what an epoch says of it. */
export interface Plan {
  readonly epoch: bigint;
  readonly root: Buffer;
  readonly leaves: number;
  readonly total: bigint;
  claim(index: number): Claim;
  proof(index: number): Buffer[];
}

export const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** What is hashed for a leaf: 53 bytes. */
export function leafBytes(epoch: bigint, index: number, { wallet, amount }: Claim): Buffer {
  const bytes = Buffer.alloc(53);
  bytes.writeBigUInt64LE(epoch, 1);
  bytes.writeUInt32LE(index, 9);
  wallet.toBuffer().copy(bytes, 13);
  bytes.writeBigUInt64LE(amount, 45);
  return bytes;
}

export const nodeOf = (a: Buffer, b: Buffer): Buffer => sha256(Buffer.concat(Buffer.compare(a, b) < 0 ? [a, b] : [b, a]));

/** Wallets of nobody in particular, with 1,000, 1,001, … to get. */
export const wallets = (count: number): Claim[] =>
  Array.from({ length: count }, (_, i) => ({ wallet: new PublicKey(randomBytes(32)), amount: 1_000n + BigInt(i) }));

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`there is no ${index}`);
  return value;
}

/** The tree as another implementation builds it. */
export function planOf(claims: readonly Claim[], epoch: bigint): Plan {
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

/** A tree of which only one path is known: for indexes and depths that would take a real tree of millions. */
export function planOfPath(path: { index: number; claim: Claim; depth: number; leaves: number; total?: bigint; epoch?: bigint }): Plan {
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

/** A tree as a corner of a larger one: of so many leaves, with so many nodes more in each proof. */
export function deepened(plan: Plan, above: number, leaves: number): Plan {
  const siblings = Array.from({ length: above }, (_, level) => sha256(Buffer.from(`sibling above ${level}`)));
  return { ...plan, leaves, root: siblings.reduce(nodeOf, plan.root), proof: (index) => [...plan.proof(index), ...siblings] };
}
