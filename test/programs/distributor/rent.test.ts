import { describe, expect, test } from '@jest/globals';
import { Keypair, type PublicKey, SYSVAR_RENT_PUBKEY, SystemProgram } from '@solana/web3.js';
import { EPOCH_BYTES, pageBytes } from '#platform/solana/distributor/index.ts';
import { changedInstruction } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { treeOf, wallets } from './tree.ts';
import { World } from './world.ts';

describe.each(FEATURES)('accounts at addresses that hold lamports already, %s', (features) => {
  test.each([
    ['less than the rent', (needed: number) => needed - 1],
    ['exactly the rent', (needed: number) => needed],
    ['three times the rent', (needed: number) => needed * 3],
    ['one lamport more than the rent', (needed: number) => needed + 1],
    ['the rent of an empty account', (_: number, least: number) => least],
  ])('an account is created at an address that received %s, and the payer adds the missing rent', (_, amount) => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(3));
    const least = world.svm.rent(0);
    const send = (to: PublicKey, lamports: number) =>
      world.must([SystemProgram.transfer({ fromPubkey: world.payer.publicKey, toPubkey: to, lamports })]);
    const cost = (then: () => unknown) => {
      const before = world.svm.lamports(world.treasury.publicKey);
      then();
      return Number(before - world.svm.lamports(world.treasury.publicKey));
    };
    const byTreasury = { keys: { 0: { pubkey: world.treasury.publicKey } } };

    const sentToEpoch = amount(world.svm.rent(EPOCH_BYTES), least);
    send(epoch.epochAccount, sentToEpoch);
    world.must(world.funding(epoch), world.authority);
    const open = () => world.must([changedInstruction(world.opening(epoch), byTreasury)], world.treasury, world.authority);
    expect(cost(open)).toBe(Math.max(0, world.svm.rent(EPOCH_BYTES) - sentToEpoch));
    expect(world.state(epoch).state).toBe('open');

    const sentToPage = amount(world.svm.rent(pageBytes(3, 0)), least);
    send(world.page(epoch, 0), sentToPage);
    world.destination(epoch, 0);
    const claim = () => world.must([changedInstruction(world.claiming(epoch, 0), byTreasury)], world.treasury);
    expect(cost(claim)).toBe(Math.max(0, world.svm.rent(pageBytes(3, 0)) - sentToPage));
    expect(world.isClaimed(epoch, 0)).toBe(true);
    expect(world.svm.account(world.page(epoch, 0)).owner).toEqual(world.program);
  });

  test('an account is not created at an address that has data or another owner', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(3));
    world.must(world.funding(epoch), world.authority);
    const junk = { owner: SystemProgram.programId, lamports: 10_000_000n, data: Buffer.alloc(240), executable: false };
    world.svm.set(epoch.epochAccount, junk);
    expect(world.errorOf([world.opening(epoch)], world.authority)).toBe('AlreadyOpened');
    world.svm.set(epoch.epochAccount, { ...junk, owner: SYSVAR_RENT_PUBKEY, data: Buffer.alloc(0) });
    expect(world.errorOf([world.opening(epoch)], world.authority)).toBe('AlreadyOpened');
    world.svm.set(epoch.epochAccount, { ...junk, data: Buffer.alloc(0) });
    world.must([world.opening(epoch)], world.authority);
    world.destination(epoch, 0);
    world.svm.set(world.page(epoch, 0), junk);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('NotAPage');
    world.svm.set(world.page(epoch, 0), { ...junk, data: Buffer.alloc(0) });
    world.must([world.claiming(epoch, 0)]);
  });
});

describe.each(FEATURES)('rent, %s', (features) => {
  test.each([
    [3_480n, 2],
    [6_960n, 1],
    [5_080n, 1],
    [696n, 1],
    [348n, 2],
    [1n, 1],
  ])('an account gets the rent of the cluster: %i lamports per byte, threshold %i', (price, threshold) => {
    const world = new World(features);
    const mint = world.mint();
    world.svm.setRent(price, threshold);
    const epoch = world.open(mint, wallets(3));
    world.claim(epoch, 0);
    expect(world.svm.lamports(epoch.epochAccount)).toBe((128n + 240n) * price * BigInt(threshold));
    expect(world.svm.lamports(world.page(epoch, 0))).toBe((128n + 49n) * price * BigInt(threshold));
  });

  test('unsupported rent parameters are rejected', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(3));
    const opened = world.open(epoch.mint, wallets(3), 2n);
    world.must(world.funding(epoch), world.authority);
    world.destination(opened, 0);
    const known = [6_960n, 1] as const;
    for (const [price, threshold] of [
      [3_480n, 1.5],
      [3_480n, 0.5],
      [3_480n, 3],
      [2n ** 32n, 1],
      [0n, 1],
      [0n, 2],
    ] as const) {
      world.svm.setRent(price, threshold);
      expect(world.errorOf([world.claiming(opened, 0)])).toBe('BadRent');
      expect(world.errorOf([world.opening(epoch)], world.authority)).toBe('BadRent');
    }
    world.svm.setRent(...known);
    world.must([world.opening(epoch), world.claiming(opened, 0)], world.authority);
  });

  test('a change of the rent does not affect existing pages and applies to new pages', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), treeOf(wallets(5_000), 1n));
    for (const index of [0, 1, 2, 4_999]) world.destination(epoch, index);
    world.must([world.claiming(epoch, 0)]);
    world.svm.setRent(69n, 1);
    world.must([world.claiming(epoch, 1)]);
    world.svm.setRent(69_600n, 1);
    world.must([world.claiming(epoch, 2)]);
    world.must([world.claiming(epoch, 4_999)]);
    expect(world.svm.lamports(world.page(epoch, 0))).toBe((128n + 560n) * 6_960n);
    expect(world.svm.lamports(world.page(epoch, 4_999))).toBe((128n + 48n + 113n) * 69_600n);
    world.must([world.settling(epoch), world.closing(epoch), world.closingPage(epoch, 0), world.closingPage(epoch, 1)], world.authority);
  });

  test('a claim whose payer cannot pay the rent fails and changes nothing', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    const poor = Keypair.generate();
    world.svm.fund(poor.publicKey, BigInt(world.svm.rent(0)) + 1_000n);
    world.destination(epoch, 0);
    const claiming = changedInstruction(world.claiming(epoch, 0), { keys: { 0: { pubkey: poor.publicKey } } });
    expect(world.errorOf([claiming], poor)).toBe('Custom 1');
    expect(world.svm.get(world.page(epoch, 0))).toBeNull();
  });
});
