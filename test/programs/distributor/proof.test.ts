import { describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey } from '@solana/web3.js';
import { claimReward, MAX_PROOF } from '#platform/solana/distributor/index.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { changedInstruction, key } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { leafBytes, nodeOf, sha256, treeOf, treeOfPath, wallets } from './tree.ts';
import { type SvmEpoch, World } from './world.ts';

/** Opens the wallet's token account and builds a claim with changed values. */
function forgedClaim(world: World, epoch: SvmEpoch, change: Partial<Parameters<typeof claimReward>[0]>) {
  const claim = { ...epoch, payer: world.payer.publicKey, index: 0, ...epoch.claim(0), proof: epoch.proof(0), ...change };
  return [world.tokenAccount(claim.wallet, epoch.mint), claimReward(claim)];
}

describe.each(FEATURES)('proof of a claim, %s', (features) => {
  test('a proof is valid only for its index, wallet and amount', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(6));
    const { amount } = epoch.claim(0);
    expect(world.errorOf(forgedClaim(world, epoch, { amount: amount + 1n }))).toBe('BadProof');
    expect(world.errorOf(forgedClaim(world, epoch, { amount: amount - 1n }))).toBe('BadProof');
    expect(world.errorOf(forgedClaim(world, epoch, { index: 1 }))).toBe('BadProof');
    expect(world.errorOf(forgedClaim(world, epoch, { index: 5 }))).toBe('BadProof');
    expect(world.errorOf(forgedClaim(world, epoch, { wallet: world.payer.publicKey }))).toBe('BadProof');
    expect(world.errorOf(forgedClaim(world, epoch, { wallet: epoch.claim(1).wallet }))).toBe('BadProof');
    expect(world.errorOf(forgedClaim(world, epoch, {}))).toBeNull();
  });

  test('a proof with a missing, additional, changed or reordered node is not valid', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(6));
    const proof = epoch.proof(0);
    const [first = Buffer.alloc(32), ...rest] = proof;
    const with_ = (nodes: readonly Buffer[]) => world.errorOf(forgedClaim(world, epoch, { proof: nodes }));
    expect(with_([])).toBe('BadProof');
    expect(with_(rest)).toBe('BadProof');
    expect(with_(proof.slice(0, -1))).toBe('BadProof');
    expect(with_(proof.toReversed())).toBe('BadProof');
    expect(with_([...proof, first])).toBe('BadProof');
    expect(with_([...proof, Buffer.alloc(32)])).toBe('BadProof');
    for (const bit of [0, 7, 255]) {
      const flipped = Buffer.from(first);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(with_([flipped, ...rest])).toBe('BadProof');
    }
    expect(with_(proof)).toBeNull();
  });

  test('proofs of merkletreejs are valid at every index of every small tree', () => {
    const world = new World(features);
    const mint = world.mint();
    for (let leaves = 1; leaves <= 9; leaves++) {
      const epoch = world.open(mint, wallets(leaves), BigInt(leaves));
      for (let index = 0; index < leaves; index++) world.claim(epoch, index);
      expect(world.balance(epoch.vault)).toBe(0n);
    }
  });

  test('two nodes are ordered as byte strings, not as numbers', () => {
    const world = new World(features);
    const claim = { wallet: key(), amount: 9n };
    const leaf = sha256(leafBytes(1n, 0, claim));
    for (const word of [0, 8, 16, 24]) {
      for (const by of [-1, 1]) {
        const [low, high] = [leaf.readUInt8(word), leaf.readUInt8(word + 7)];
        const sibling = Buffer.from(leaf); // equal up to this word; its first byte decides, and its last byte has the opposite order
        sibling.writeUInt8((low + by + 256) % 256, word);
        sibling.writeUInt8((high - by + 256) % 256, word + 7);
        const plan = { epoch: 1n, leaves: 1, total: 9n, root: nodeOf(leaf, sibling), claim: () => claim, proof: () => [sibling] };
        const epoch = world.open(world.mint(), plan);
        world.claim(epoch, 0);
        expect(world.balance(epoch.vault)).toBe(0n);
      }
    }
  });

  test('a correct proof of more than 32 nodes is rejected', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), treeOfPath({ index: 0, depth: MAX_PROOF + 1, leaves: 2, claim: { wallet: key(), amount: 5n } }));
    world.destination(epoch, 0);
    const short = claimReward({ ...epoch, payer: world.payer.publicKey, index: 0, ...epoch.claim(0), proof: epoch.proof(0).slice(0, MAX_PROOF) });
    const long = changedInstruction(short, { data: (data) => Buffer.concat([data, ...epoch.proof(0).slice(MAX_PROOF)]) });
    expect(world.errorOf([long])).toBe('BadInstruction');
    expect(() => world.claiming(epoch, 0)).toThrow(RangeError);
  });

  test('an index that is in the tree but not in the epoch is rejected', () => {
    const world = new World(features);
    const plan = treeOf(wallets(8), 1n);
    const epoch = world.open(world.mint(), { ...plan, leaves: 5 });
    world.claim(epoch, 4);
    for (const index of [5, 6, 7]) {
      world.destination(epoch, index);
      expect(world.errorOf([world.claiming(epoch, index)])).toBe('BadIndex');
    }
    expect(world.errorOf(forgedClaim(world, epoch, { index: 2 ** 32 - 1 }))).toBe('BadIndex');
  });

  test('a proof of one epoch is not valid in another epoch with the same claims', () => {
    const world = new World(features);
    const mint = world.mint();
    const claims = wallets(4);
    const first = world.open(mint, claims, 1n);
    const second = world.open(mint, claims, 2n);
    expect(second.root).not.toEqual(first.root);
    world.claim(first, 0);
    expect(world.errorOf(forgedClaim(world, second, { proof: first.proof(0) }))).toBe('BadProof');
    world.claim(second, 0);
    const high = world.open(mint, claims, 2n ** 40n + 1n); // all bytes of the epoch number are hashed
    expect(world.errorOf(forgedClaim(world, high, { proof: first.proof(0) }))).toBe('BadProof');
    world.claim(high, 0);
  });

  test('a proof of an epoch of one mint is not valid for another mint', () => {
    const world = new World(features);
    const first = world.open(world.mint(), wallets(4));
    const second = world.open(world.mint(), wallets(4));
    const { wallet, amount } = first.claim(0);
    expect(world.errorOf(forgedClaim(world, second, { wallet, amount, proof: first.proof(0) }))).toBe('BadProof');
  });

  test('a node of the tree cannot be claimed as a leaf', () => {
    const world = new World(features);
    // The children of the root are chosen so that their concatenation has the layout of a leaf that pays a thief.
    const thief = Keypair.generate().publicKey;
    const fake = leafBytes(1n, 0, { wallet: thief, amount: 1_000n });
    const padded = Buffer.concat([fake, Buffer.alloc(11)]);
    const epoch = world.open(world.mint(), { ...treeOf(wallets(2), 1n), root: sha256(padded), total: 1_000n });
    expect(world.errorOf(forgedClaim(world, epoch, { wallet: thief, amount: 1_000n, proof: [] }))).toBe('BadProof');

    // A real tree: the children of its root are sent as the bytes of a claim.
    const tree = world.open(world.mint(), wallets(4));
    const inner = nodeOf(sha256(leafBytes(1n, 0, tree.claim(0))), sha256(leafBytes(1n, 1, tree.claim(1))));
    const [, uncle = Buffer.alloc(32)] = tree.proof(0);
    const joined = Buffer.concat([inner, uncle].toSorted(Buffer.compare));
    const shown = { wallet: new PublicKey(joined.subarray(13, 45)), amount: joined.readBigUInt64LE(45), index: joined.readUInt32LE(9) % 4 };
    expect(world.errorOf(forgedClaim(world, tree, { ...shown, proof: [] }))).toBe('BadProof');
    expect(world.balance(associatedTokenAddress(shown.wallet, tree.mint))).toBe(0n);
  });

  test('a leaf without the prefix byte is not valid', () => {
    const world = new World(features);
    const claims = wallets(1);
    const bare = leafBytes(1n, 0, treeOf(claims, 1n).claim(0)).subarray(1);
    const epoch = world.open(world.mint(), { ...treeOf(claims, 1n), root: sha256(bare) });
    expect(world.errorOf(forgedClaim(world, epoch, {}))).toBe('BadProof');
    const other = world.open(world.mint(), { ...treeOf(claims, 1n), root: sha256(Buffer.concat([Buffer.from([1]), bare])) });
    expect(world.errorOf(forgedClaim(world, other, {}))).toBe('BadProof');
  });
});
