import { describe, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import { claimReward } from '#platform/solana/distributor/index.ts';
import { associatedTokenAddress, mintTo } from '#platform/solana/tokens.ts';
import { FEATURES } from './svm.ts';
import { planOf, planOfPath, wallets } from './tree.ts';
import { DAY, edited, key, World } from './world.ts';

describe.each(FEATURES)('a claim, %s', (features) => {
  test('pays a leaf to its wallet, whoever submits it, and is remembered', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(10));
    world.claim(epoch, 3);
    expect(world.paid(epoch, 3)).toBe(1_003n);
    expect(world.balance(epoch.vault)).toBe(epoch.total - 1_003n);
    expect(world.state(epoch)).toMatchObject({ state: 'open', claimed: 1_003n, total: epoch.total });
    expect(epoch.proof(3)).toHaveLength(4);
    for (let i = 0; i < 10; i++) expect(world.isClaimed(epoch, i)).toBe(i === 3);
  });

  test('is paid once', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    for (const index of [0, 2, 1]) {
      world.claim(epoch, index);
      expect(world.refusal([world.claiming(epoch, index)])).toBe('AlreadyClaimed');
    }
    const stranger = Keypair.generate();
    world.svm.fund(stranger.publicKey, 10_000_000_000n);
    const again = edited(world.claiming(epoch, 0), { keys: { 0: { pubkey: stranger.publicKey } } });
    expect(world.svm.send([again], [stranger]).error).toBe('AlreadyClaimed');
    expect(world.balance(epoch.vault)).toBe(0n);
    expect(world.state(epoch).claimed).toBe(epoch.total);
  });

  test('is paid once in one transaction too', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.destination(epoch, 1);
    expect(world.refusal([world.claiming(epoch, 1), world.claiming(epoch, 1)])).toBe('AlreadyClaimed');
    expect(world.isClaimed(epoch, 1)).toBe(false);
    for (const index of [0, 2]) world.destination(epoch, index);
    world.must([world.claiming(epoch, 1), world.claiming(epoch, 0), world.claiming(epoch, 2)]);
    expect(world.balance(epoch.vault)).toBe(0n);
  });

  test('may be paid for by its own wallet', () => {
    const world = new World(features);
    const wallet = Keypair.generate();
    world.svm.fund(wallet.publicKey, 10_000_000_000n);
    const epoch = world.open(world.mint(), [{ wallet: wallet.publicKey, amount: 5n }, ...wallets(2)]);
    world.destination(epoch, 0);
    const own = claimReward({ ...epoch, payer: wallet.publicKey, index: 0, ...epoch.claim(0), proof: epoch.proof(0) });
    world.svm.must([own], [wallet]);
    expect(world.paid(epoch, 0)).toBe(5n);
  });

  test('costs its payer the rent of a page where it is the first, and nothing but the fee later', () => {
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

  test('ends with the epoch, to the second', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    for (const index of [0, 1]) world.destination(epoch, index);
    world.svm.now = world.state(epoch).expiry - 1;
    world.must([world.claiming(epoch, 0)]);
    world.svm.now += 1;
    expect(world.refusal([world.claiming(epoch, 1)])).toBe('Expired');
    world.svm.now += 1_000 * DAY;
    expect(world.refusal([world.claiming(epoch, 1)])).toBe('Expired');
    expect(world.isClaimed(epoch, 1)).toBe(false);
  });

  test('is not paid from a settled or a closed epoch', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.destination(epoch, 1);
    world.must([world.settling(epoch)], world.authority);
    world.must([mintTo(epoch.mint, epoch.vault, epoch.authority, 10_000n)], world.authority);
    expect(world.refusal([world.claiming(epoch, 1)])).toBe('NotOpen');
    world.must([world.closing(epoch)]);
    expect(world.refusal([world.claiming(epoch, 1)])).toBe('NotOpen');
    world.must([...world.funding(epoch)], world.authority); // the vault is there again, full
    expect(world.refusal([world.claiming(epoch, 1)])).toBe('NotOpen');
  });

  test('cannot exceed what is left of the total, whatever the tree and the vault hold', () => {
    const world = new World(features);
    const claims = wallets(3); // 1,000 and 1,001 and 1,002
    const epoch = world.plan(world.mint(), { ...planOf(claims, 1n), total: 2_001n });
    world.must([...world.funding(epoch, 50_000n), world.opening(epoch)], world.authority);
    world.claim(epoch, 0);
    world.destination(epoch, 2);
    expect(world.refusal([world.claiming(epoch, 2)])).toBe('ExceedsTotal');
    world.claim(epoch, 1);
    expect(world.refusal([world.claiming(epoch, 2)])).toBe('ExceedsTotal');
    expect(world.state(epoch).claimed).toBe(2_001n);
  });

  test('of the largest amounts neither overflows nor exceeds', () => {
    const world = new World(features);
    const most = 2n ** 64n - 1n;
    const claims = [most, 1n, most].map((amount) => ({ wallet: key(), amount }));
    const epoch = world.open(world.mint(), { ...planOf(claims, 1n), total: most });
    world.claim(epoch, 1);
    for (const index of [0, 2]) {
      world.destination(epoch, index);
      expect(world.refusal([world.claiming(epoch, index)])).toBe('ExceedsTotal');
    }
    const whole = world.open(world.mint(), { ...planOf(claims, 1n), total: most });
    world.claim(whole, 0);
    world.destination(whole, 1);
    expect(world.refusal([world.claiming(whole, 1)])).toBe('ExceedsTotal');
    expect(world.state(whole).claimed).toBe(most);
  });

  test('of nothing pays nothing, once', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), [{ wallet: key(), amount: 0n }, ...wallets(2)]);
    world.claim(epoch, 0);
    expect(world.refusal([world.claiming(epoch, 0)])).toBe('AlreadyClaimed');
    expect(world.balance(epoch.vault)).toBe(epoch.total);
  });

  test('to one wallet at two indexes is paid at each', () => {
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

  test('works at the highest index and the longest proof there may be', () => {
    const world = new World(features);
    const index = 2 ** 32 - 2;
    const path = { index, depth: 32, leaves: 2 ** 32 - 1, claim: { wallet: key(), amount: 5n } };
    const epoch = world.open(world.mint(), planOfPath(path), 1n);
    world.destination(epoch, index);
    world.must([world.claiming(epoch, index)]);
    expect(world.isClaimed(epoch, index)).toBe(true);
    expect(world.refusal([world.claiming(epoch, index)])).toBe('AlreadyClaimed');
  });

  test('in an epoch of one leaf needs no proof', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(1));
    expect(epoch.proof(0)).toEqual([]);
    world.claim(epoch, 0);
    expect(world.refusal([world.claiming(epoch, 0)])).toBe('AlreadyClaimed');
    expect(world.balance(epoch.vault)).toBe(0n);
  });
});
