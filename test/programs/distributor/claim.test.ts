import { describe, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import { claimReward } from '#platform/solana/distributor/index.ts';
import { associatedTokenAddress, mintTo } from '#platform/solana/tokens.ts';
import { changedInstruction, key } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { treeOf, treeOfPath, wallets } from './tree.ts';
import { DAY, World } from './world.ts';

describe.each(FEATURES)('claim, %s', (features) => {
  test('a claim pays its leaf to the wallet and sets only the bit of the leaf', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(10));
    world.claim(epoch, 3);
    expect(world.paid(epoch, 3)).toBe(1_003n);
    expect(world.balance(epoch.vault)).toBe(epoch.total - 1_003n);
    expect(world.state(epoch)).toMatchObject({ state: 'open', claimed: 1_003n, total: epoch.total });
    expect(epoch.proof(3)).toHaveLength(4);
    for (let i = 0; i < 10; i++) expect(world.isClaimed(epoch, i)).toBe(i === 3);
  });

  test('a second claim of a leaf fails, also from another payer', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    for (const index of [0, 2, 1]) {
      world.claim(epoch, index);
      expect(world.errorOf([world.claiming(epoch, index)])).toBe('AlreadyClaimed');
    }
    const stranger = Keypair.generate();
    world.svm.fund(stranger.publicKey, 10_000_000_000n);
    const again = changedInstruction(world.claiming(epoch, 0), { keys: { 0: { pubkey: stranger.publicKey } } });
    expect(world.svm.send([again], [stranger]).error).toBe('AlreadyClaimed');
    expect(world.balance(epoch.vault)).toBe(0n);
    expect(world.state(epoch).claimed).toBe(epoch.total);
  });

  test('claiming a leaf twice in one transaction fails', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.destination(epoch, 1);
    expect(world.errorOf([world.claiming(epoch, 1), world.claiming(epoch, 1)])).toBe('AlreadyClaimed');
    expect(world.isClaimed(epoch, 1)).toBe(false);
    for (const index of [0, 2]) world.destination(epoch, index);
    world.must([world.claiming(epoch, 1), world.claiming(epoch, 0), world.claiming(epoch, 2)]);
    expect(world.balance(epoch.vault)).toBe(0n);
  });

  test('the wallet of a claim may pay its fee', () => {
    const world = new World(features);
    const wallet = Keypair.generate();
    world.svm.fund(wallet.publicKey, 10_000_000_000n);
    const epoch = world.open(world.mint(), [{ wallet: wallet.publicKey, amount: 5n }, ...wallets(2)]);
    world.destination(epoch, 0);
    const own = claimReward({ ...epoch, payer: wallet.publicKey, index: 0, ...epoch.claim(0), proof: epoch.proof(0) });
    world.svm.must([own], [wallet]);
    expect(world.paid(epoch, 0)).toBe(5n);
  });

  test('the first claim of a page costs the rent of the page, a later claim only the fee', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(9));
    for (const index of [4, 5]) world.destination(epoch, index);
    const before = world.svm.lamports(world.payer.publicKey);
    world.must([world.claiming(epoch, 4)]);
    const between = world.svm.lamports(world.payer.publicKey);
    expect(before - between).toBe(5_000n + BigInt(world.svm.rent(48 + 2)));
    world.must([world.claiming(epoch, 5)]);
    expect(between - world.svm.lamports(world.payer.publicKey)).toBe(5_000n);
  });

  test('a claim fails from the second of the expiry on', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    for (const index of [0, 1]) world.destination(epoch, index);
    world.svm.now = world.state(epoch).expiry - 1;
    world.must([world.claiming(epoch, 0)]);
    world.svm.now += 1;
    expect(world.errorOf([world.claiming(epoch, 1)])).toBe('Expired');
    world.svm.now += 1_000 * DAY;
    expect(world.errorOf([world.claiming(epoch, 1)])).toBe('Expired');
    expect(world.isClaimed(epoch, 1)).toBe(false);
  });

  test('a claim from a settled or closed epoch fails', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.destination(epoch, 1);
    world.must([world.settling(epoch)], world.authority);
    world.must([mintTo(epoch.mint, epoch.vault, epoch.authority, 10_000n)], world.authority);
    expect(world.errorOf([world.claiming(epoch, 1)])).toBe('NotOpen');
    world.must([world.closing(epoch)]);
    expect(world.errorOf([world.claiming(epoch, 1)])).toBe('NotOpen');
    world.must([...world.funding(epoch)], world.authority); // restores the vault with its tokens
    expect(world.errorOf([world.claiming(epoch, 1)])).toBe('NotOpen');
  });

  test('a claim beyond the rest of the total fails, even if tree and vault contain it', () => {
    const world = new World(features);
    const claims = wallets(3); // the leaves are 1,000, 1,001 and 1,002, and their sum exceeds the total
    const epoch = world.plan(world.mint(), { ...treeOf(claims, 1n), total: 2_001n });
    world.must([...world.funding(epoch, 50_000n), world.opening(epoch)], world.authority);
    world.claim(epoch, 0);
    world.destination(epoch, 2);
    expect(world.errorOf([world.claiming(epoch, 2)])).toBe('ExceedsTotal');
    world.claim(epoch, 1);
    expect(world.errorOf([world.claiming(epoch, 2)])).toBe('ExceedsTotal');
    expect(world.state(epoch).claimed).toBe(2_001n);
  });

  test('claims of the largest amounts neither overflow nor exceed the total', () => {
    const world = new World(features);
    const most = 2n ** 64n - 1n;
    const claims = [most, 1n, most].map((amount) => ({ wallet: key(), amount }));
    const epoch = world.open(world.mint(), { ...treeOf(claims, 1n), total: most });
    world.claim(epoch, 1);
    for (const index of [0, 2]) {
      world.destination(epoch, index);
      expect(world.errorOf([world.claiming(epoch, index)])).toBe('ExceedsTotal');
    }
    const whole = world.open(world.mint(), { ...treeOf(claims, 1n), total: most });
    world.claim(whole, 0);
    world.destination(whole, 1);
    expect(world.errorOf([world.claiming(whole, 1)])).toBe('ExceedsTotal');
    expect(world.state(whole).claimed).toBe(most);
  });

  test('a claim of 0 pays nothing and cannot be repeated', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), [{ wallet: key(), amount: 0n }, ...wallets(2)]);
    world.claim(epoch, 0);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('AlreadyClaimed');
    expect(world.balance(epoch.vault)).toBe(epoch.total);
  });

  test('a wallet with two leaves is paid for both', () => {
    const world = new World(features);
    const wallet = key();
    const epoch = world.open(world.mint(), [
      { wallet, amount: 7n },
      { wallet, amount: 7n },
    ]);
    world.claim(epoch, 0);
    world.claim(epoch, 1);
    expect(world.balance(associatedTokenAddress(wallet, epoch.mint))).toBe(14n);
  });

  test('a claim with the highest index and the longest proof is paid', () => {
    const world = new World(features);
    const index = 2 ** 32 - 2;
    const path = { index, depth: 32, leaves: 2 ** 32 - 1, claim: { wallet: key(), amount: 5n } };
    const epoch = world.open(world.mint(), treeOfPath(path), 1n);
    world.destination(epoch, index);
    world.must([world.claiming(epoch, index)]);
    expect(world.isClaimed(epoch, index)).toBe(true);
    expect(world.errorOf([world.claiming(epoch, index)])).toBe('AlreadyClaimed');
  });

  test('a claim in an epoch with one leaf needs no proof', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(1));
    expect(epoch.proof(0)).toEqual([]);
    world.claim(epoch, 0);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('AlreadyClaimed');
    expect(world.balance(epoch.vault)).toBe(0n);
  });
});
