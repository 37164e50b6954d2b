import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { MerkleTree } from 'merkletreejs';
import { CHUNK_BYTES, CHUNK_LEAVES, proofThrough, subtreeRoots } from '#areas/rewards/epochs/tree-chunks.ts';
import { buildTree, hashLeaves, leafHash, proofOf, rootFromProof, rootOf, verifyProof, verifyWithMerkletreejs } from '#lib/merkle.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';

const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const leavesOf = (count: number) => new Uint8Array(randomBytes(32 * count));
const split = (flat: Uint8Array) => Array.from({ length: flat.length / 32 }, (_, i) => Buffer.from(flat.subarray(32 * i, 32 * i + 32)));
const theirs = (leaves: Uint8Array) => new MerkleTree(split(leaves), sha256, { sortPairs: true });
/** All small sizes, and sizes around powers of two and around chunks. */
const SIZES = [...Array.from({ length: 300 }, (_, i) => i + 1), 511, 512, 513, 1_023, 1_025, 2_049, 4_095, 4_097];

test('a leaf is the SHA-256 of 53 bytes: zero, epoch, index, wallet, amount', () => {
  const wallet = new Uint8Array(32).fill(7);
  const bytes = Buffer.alloc(53);
  bytes.writeBigUInt64LE(20_777n, 1);
  bytes.writeUInt32LE(3_000_000_000, 9);
  bytes.fill(7, 13, 45);
  bytes.writeBigUInt64LE(2n ** 64n - 1n, 45);
  expect(Buffer.from(leafHash({ epoch: 20_777, index: 3_000_000_000, wallet, amount: 2n ** 64n - 1n }))).toEqual(sha256(bytes));
});

test('hashing many leaves at once gives the same hashes as one by one', () => {
  const wallets = leavesOf(50);
  const amounts = BigUint64Array.from({ length: 50 }, (_, i) => BigInt(i) ** 7n);
  const together = new Uint8Array(50 * 32);
  hashLeaves(9, 1_000, wallets, amounts, together);
  const single = split(wallets).map((wallet, i) => Buffer.from(leafHash({ epoch: 9, index: 1_000 + i, wallet, amount: amounts[i] ?? 0n })));
  expect(split(together)).toEqual(single);
});

test('a tree of one leaf is that leaf, and its proof is empty', () => {
  const leaves = leavesOf(1);
  const levels = buildTree(leaves);
  expect(rootOf(levels)).toEqual(leaves);
  expect(proofOf(levels, 0)).toEqual([]);
});

test('an odd node moves up unchanged, and a pair is hashed with the smaller hash first', () => {
  const leaves = new Uint8Array([...new Array(32).fill(9), ...new Array(32).fill(5), ...new Array(32).fill(1)]);
  const [nine = leaves, five = leaves, one = leaves] = split(leaves);
  const pair = sha256(five, nine);
  const [smaller, larger] = Buffer.compare(pair, one) < 0 ? [pair, one] : [one, pair];
  expect(Buffer.from(rootOf(buildTree(leaves)))).toEqual(sha256(smaller, larger));
});

test('roots and proofs equal those of merkletreejs for all sizes up to 300 and some larger ones', () => {
  const random = randomGenerator(7);
  for (const size of SIZES) {
    const leaves = leavesOf(size);
    const levels = buildTree(leaves);
    const other = theirs(leaves);
    expect(Buffer.from(rootOf(levels))).toEqual(other.getRoot());
    const all = split(leaves);
    for (const index of new Set([0, size - 1, random.int(0, size - 1), random.int(0, size - 1)])) {
      const leaf = all[index] ?? Buffer.alloc(0);
      const expected = other.getProof(leaf, index).map(({ data }) => data);
      expect(proofOf(levels, index).map((sibling) => Buffer.from(sibling))).toEqual(expected);
    }
  }
});

test('a proof composed from chunks equals the proof of the whole tree', () => {
  for (const size of SIZES) {
    const leaves = leavesOf(size);
    const levels = buildTree(leaves);
    const top = buildTree(subtreeRoots(levels));
    expect(rootOf(top)).toEqual(rootOf(levels));
    for (const index of new Set([0, Math.floor(size / 2), size - 1])) {
      const chunk = leaves.slice(CHUNK_BYTES * Math.floor(index / CHUNK_LEAVES), CHUNK_BYTES * (Math.floor(index / CHUNK_LEAVES) + 1));
      expect(proofThrough(chunk, top, index)).toEqual(proofOf(levels, index));
    }
  }
});

test('without the native hasher, roots and proofs are the same', async () => {
  const leaves = leavesOf(77);
  const levels = buildTree(leaves);
  // A separate process, because this process has loaded the native hasher already.
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({ resolve: (name, context, next) => { if (name === '@chainsafe/hashtree') throw new Error('no build'); return next(name, context); } });
    const { buildTree } = await import(process.argv[1]);
    process.stdout.write(JSON.stringify(buildTree(Buffer.from(process.argv[2], 'hex')).map((level) => Buffer.from(level).toString('hex'))));`;
  const args = ['--input-type=module', '-e', script, import.meta.resolve('#lib/merkle.ts'), Buffer.from(leaves).toString('hex')];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual(levels.map((level) => Buffer.from(level).toString('hex')));
});

test('levels whose last level is not one hash have no root', () => {
  expect(() => rootOf([])).toThrow('no root');
  expect(() => rootOf([leavesOf(2)])).toThrow('no root');
});

test('a proof is valid only for its leaf and root', () => {
  const leaves = leavesOf(77);
  const levels = buildTree(leaves);
  const root = rootOf(levels);
  for (const [index, leaf] of split(leaves).entries()) {
    const proof = proofOf(levels, index);
    const other = randomBytes(32);
    for (const verify of [verifyProof, verifyWithMerkletreejs]) {
      expect(verify(root, leaf, proof)).toBe(true);
      expect(verify(root, other, proof)).toBe(false);
      expect(verify(other, leaf, proof)).toBe(false);
      expect(verify(root, leaf, proof.slice(1))).toBe(false);
      expect(verify(root, leaf, [...proof.slice(0, -1), other])).toBe(false);
    }
    expect(rootFromProof(leaf, [...proof, other])).not.toEqual(Buffer.from(root));
  }
});

test('a tree without leaves and a proof of a missing leaf are rejected', () => {
  expect(() => buildTree(new Uint8Array(0))).toThrow('at least one leaf hash');
  expect(() => buildTree(new Uint8Array(33))).toThrow('at least one leaf hash');
  const levels = buildTree(leavesOf(3));
  expect(() => proofOf(levels, 3)).toThrow('there is no leaf 3');
  expect(() => proofOf(levels, -1)).toThrow('there is no leaf -1');
});
