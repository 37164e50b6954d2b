import { describe, expect, test } from '@jest/globals';
import { PublicKey } from '@solana/web3.js';
import { CLAIMS_PER_PAGE, decodePage, isClaimed, pageAddress, pageBytes } from '#platform/solana/distributor/index.ts';
import { changedInstruction, key } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { type EpochTree, treeOf, treeOfPath, wallets } from './tree.ts';
import { World } from './world.ts';

/** The tree of all tests: 9,000 claims on two full pages and a short page. */
const claims = wallets(9_000);
const plan: EpochTree = treeOf(claims, 1n);

describe.each(FEATURES)('pages, %s', (features) => {
  test('a page holds 4,096 claims, and the last page the rest', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), plan);
    const indexes = [0, 1, 7, 8, 4_095, 4_096, 8_191, 8_192, 8_999];
    for (const index of indexes) world.claim(epoch, index);
    const claimed = [0, 1, 2].flatMap((number) => {
      const page = decodePage(world.program, world.svm.get(pageAddress(world.program, epoch.epochAccount, number)));
      if (!page) throw new Error(`page ${number} does not exist`);
      const length = Math.min(CLAIMS_PER_PAGE, 9_000 - number * CLAIMS_PER_PAGE);
      return Array.from({ length }, (_, i) => number * CLAIMS_PER_PAGE + i).filter((index) => isClaimed(page, index));
    });
    expect(claimed).toEqual(indexes);
    for (const index of indexes) expect(world.errorOf([world.claiming(epoch, index)])).toBe('AlreadyClaimed');
    const pages = [0, 4_096, 8_192].map((index) => world.svm.account(world.page(epoch, index)));
    expect(pages.map(({ data }) => data.length)).toEqual([560, 560, 48 + 101]);
    expect(pages.map(({ data }) => data.length)).toEqual([0, 1, 2].map((page) => pageBytes(9_000, page)));
    for (const [page, account] of pages.entries()) {
      expect(account.lamports).toBe(BigInt(world.svm.rent(account.data.length)));
      expect(decodePage(world.program, account)).toMatchObject({ page, epochAccount: epoch.epochAccount });
    }
  });

  test.each([4_095, 4_096, 4_097, 8_192])('an epoch with %i leaves has no more pages than needed', (leaves) => {
    const world = new World(features);
    const path = { index: leaves - 1, claim: { wallet: key(), amount: 3n }, depth: 13, leaves };
    const epoch = world.open(world.mint(), treeOfPath(path));
    world.claim(epoch, leaves - 1);
    expect(world.isClaimed(epoch, leaves - 1)).toBe(true);
    const page = Math.floor((leaves - 1) / CLAIMS_PER_PAGE);
    expect(world.svm.account(world.page(epoch, leaves - 1)).data).toHaveLength(pageBytes(leaves, page));
    expect(world.svm.get(pageAddress(world.program, epoch.epochAccount, page + 1))).toBeNull();
  });

  test('a claim accepts a page only at its own address', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, plan);
    const other = world.open(mint, treeOf(claims.slice(0, 50), 2n), 2n);
    for (const index of [0, 5_000]) world.claim(epoch, index);
    world.claim(other, 0);
    world.destination(epoch, 1);
    const at = (pubkey: PublicKey) => world.errorOf([changedInstruction(world.claiming(epoch, 1), { keys: { 2: { pubkey } } })]);
    expect(at(world.page(epoch, 5_000))).toBe('NotAPage'); // another page of the epoch
    expect(at(world.page(epoch, 8_500))).toBe('WrongAddress'); // a page that does not exist yet
    expect(at(world.page(other, 0))).toBe('NotAPage'); // a page of another epoch
    expect(at(other.epochAccount)).toBe('NotAPage'); // an epoch
    expect(at(key())).toBe('WrongAddress'); // an unused address
    expect(at(world.payer.publicKey)).toBe('BadAccounts');
    expect(at(mint)).toBe('NotAPage'); // an account of another program
    expect(world.isClaimed(epoch, 1)).toBe(false);
  });

  test('a claim rejects a page with a bump that is not canonical', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), plan);
    world.claim(epoch, 0);
    const number = Buffer.alloc(4);
    const seeds = [Buffer.from('claimed'), epoch.epochAccount.toBuffer(), number];
    const canonical = PublicKey.findProgramAddressSync(seeds, world.program)[1];
    const others = Array.from({ length: canonical }, (_, bump) => {
      try {
        return PublicKey.createProgramAddressSync([...seeds, Buffer.from([bump])], world.program);
      } catch {
        return null;
      }
    }).filter((address) => address !== null);
    expect(others.length).toBeGreaterThan(2);
    for (const pubkey of others.slice(-3)) {
      expect(world.errorOf([changedInstruction(world.claiming(epoch, 0), { keys: { 2: { pubkey } } })])).toBe('WrongAddress');
      expect(world.svm.get(pubkey)).toBeNull();
    }
  });

  test('a claim rejects a page with a number beyond the last page', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), treeOfPath({ index: 4_095, depth: 12, leaves: 4_096, claim: { wallet: key(), amount: 3n } }));
    world.claim(epoch, 4_095);
    const page = world.page(epoch, 0);
    const { data } = world.svm.account(page);
    const beyond = Buffer.from(data.subarray(0, 48));
    beyond.writeUInt32LE(1, 12);
    expect(world.svm.withForgedAccount(page, { data: beyond }, () => world.errorOf([world.claiming(epoch, 4_095)]))).toBe('NotAPage');
  });

  test('a claim rejects a page account that is forged', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), plan);
    world.claim(epoch, 0);
    world.destination(epoch, 1);
    const page = world.page(epoch, 0);
    const { data } = world.svm.account(page);
    const bump = data.readUInt8(9);
    const using = (change: Parameters<typeof world.svm.withForgedAccount>[1]) =>
      world.svm.withForgedAccount(page, change, () => world.errorOf([world.claiming(epoch, 1)]));
    expect(using({ owner: key() })).toBe('NotAPage');
    expect(using({ data: Buffer.alloc(0) })).toBe('NotAPage');
    expect(using({ data: Buffer.alloc(7) })).toBe('NotAPage');
    expect(using({ data: data.subarray(0, 8) })).toBe('NotAPage');
    expect(using({ data: data.subarray(0, 48) })).toBe('NotAPage');
    expect(using({ data: data.subarray(0, 559) })).toBe('NotAPage');
    expect(using({ data: Buffer.concat([data, Buffer.alloc(1)]) })).toBe('NotAPage');
    expect(using({ data: Buffer.alloc(560) })).toBe('NotAPage');
    expect(using((account) => account.data.write('CoinopEp'))).toBe('NotAPage');
    expect(using((account) => account.data.writeUInt8(2, 8))).toBe('NotAPage'); // another version
    expect(using((account) => account.data.writeUInt8(bump - 1, 9))).toBe('WrongAddress');
    expect(using((account) => account.data.writeUInt32LE(1, 12))).toBe('WrongAddress'); // another page's number
    expect(using((account) => account.data.writeUInt32LE(3, 12))).toBe('NotAPage'); // a number beyond the last page
    expect(using((account) => account.data.writeUInt32LE(2 ** 32 - 1, 12))).toBe('NotAPage');
    expect(using((account) => account.data.fill(1, 16, 48))).toBe('NotAPage'); // of another epoch
    expect(using({})).toBeNull();
  });
});
