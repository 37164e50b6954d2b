import { describe, expect, test } from '@jest/globals';
import { PublicKey, SystemProgram } from '@solana/web3.js';
import {
  CLAIMS_PER_PAGE,
  claimReward,
  decodeEpoch,
  decodePage,
  EPOCH_BYTES,
  isClaimed,
  openEpoch,
  pageAddress,
  pageBytes,
  pageOf,
  parseClaim,
} from '#platform/solana/distributor/index.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { key } from '../instructions.ts';
import { treeOfPath, wallets } from './tree.ts';
import { World } from './world.ts';

const world = new World('default features');
const epoch = world.open(world.mint(), treeOfPath({ index: 5_000, depth: 20, leaves: 5_003, claim: { wallet: key(), amount: 77n } }));
world.claim(epoch, 5_000);

describe('an epoch account', () => {
  const account = world.svm.account(epoch.epochAccount);

  test('decodeEpoch returns all fields of an epoch account', () => {
    expect(account.data).toHaveLength(EPOCH_BYTES);
    expect(decodeEpoch(world.program, account)).toEqual({
      state: 'open',
      bump: PublicKey.findProgramAddressSync(
        [Buffer.from('epoch'), epoch.authority.toBuffer(), epoch.mint.toBuffer(), Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])],
        world.program,
      )[1],
      leaves: 5_003,
      epoch: 1n,
      total: 77n,
      claimed: 77n,
      expiry: world.svm.now + 90 * 86_400,
      root: epoch.root,
      authority: epoch.authority,
      mint: epoch.mint,
      vault: epoch.vault,
      refund: associatedTokenAddress(world.treasury.publicKey, epoch.mint),
      refundOwner: world.treasury.publicKey,
    });
    expect(decodeEpoch(world.program, { ...account, data: new Uint8Array(account.data) })).toEqual(decodeEpoch(world.program, account));
  });

  test('decodeEpoch returns null for any other account', () => {
    const other = (change: Partial<typeof account>) => decodeEpoch(world.program, { ...account, ...change });
    const written = (at: number, byte: number) => other({ data: Buffer.from(account.data.map((old, i) => (i === at ? byte : old))) });
    expect(decodeEpoch(world.program, null)).toBeNull();
    expect(other({ owner: SystemProgram.programId })).toBeNull();
    expect(decodeEpoch(key(), account)).toBeNull();
    expect(other({ data: Buffer.alloc(0) })).toBeNull();
    expect(other({ data: account.data.subarray(0, 239) })).toBeNull();
    expect(other({ data: Buffer.concat([account.data, Buffer.alloc(1)]) })).toBeNull();
    expect(written(0, 0)).toBeNull();
    expect(written(8, 2)).toBeNull(); // another version
    for (const state of [0, 4, 255]) expect(written(9, state)).toBeNull();
    expect([1, 2, 3].map((state) => written(9, state)?.state)).toEqual(['open', 'settled', 'closed']);
    expect(decodePage(world.program, account)).toBeNull();
  });
});

describe('a page account', () => {
  const account = world.svm.account(world.page(epoch, 5_000));
  const page = decodePage(world.program, account);
  if (!page) throw new Error('no page');

  test('isClaimed returns the bit of each claim of the page and throws for other claims', () => {
    expect(page).toMatchObject({ page: 1, epochAccount: epoch.epochAccount });
    expect(account.data).toHaveLength(pageBytes(5_003, 1));
    const paid = Array.from({ length: 5_003 - CLAIMS_PER_PAGE }, (_, i) => CLAIMS_PER_PAGE + i).filter((index) => isClaimed(page, index));
    expect(paid).toEqual([5_000]);
    const several = { ...page, bits: Buffer.from([0b1000_0110, 0b0000_1001]) };
    expect(Array.from({ length: 16 }, (_, i) => i).filter((i) => isClaimed(several, CLAIMS_PER_PAGE + i))).toEqual([1, 2, 7, 8, 11]);
    for (const index of [0, 4_095, 5_008, 8_192, -1, 4_096.5, Number.NaN, 2 ** 32]) expect(() => isClaimed(page, index)).toThrow(RangeError);
  });

  test('decodePage returns null for any other account', () => {
    const other = (change: Partial<typeof account>) => decodePage(world.program, { ...account, ...change });
    expect(decodePage(world.program, null)).toBeNull();
    expect(other({ owner: key() })).toBeNull();
    expect(other({ data: account.data.subarray(0, 48) })).toBeNull();
    expect(other({ data: Buffer.concat([account.data, Buffer.alloc(600)]) })).toBeNull();
    expect(other({ data: Buffer.alloc(560) })).toBeNull();
    expect(other({ data: Buffer.from(account.data.map((byte, i) => (i === 8 ? 9 : byte))) })).toBeNull();
    expect(decodeEpoch(world.program, account)).toBeNull();
  });
});

test('pageOf, pageAddress and pageBytes return number, address and size of a page', () => {
  expect([0, 4_095, 4_096, 2 ** 32 - 1].map(pageOf)).toEqual([0, 0, 1, 2 ** 20 - 1]);
  expect([1, 8, 9, 4_096, 9_999].map((leaves) => pageBytes(leaves, 0))).toEqual([49, 49, 50, 560, 560]);
  expect(pageBytes(4_097, 1)).toBe(49);
  expect(() => pageBytes(4_096, 1)).toThrow(RangeError);
  expect(() => pageBytes(0, 0)).toThrow(RangeError);
  expect(() => pageAddress(world.program, epoch.epochAccount, 2 ** 32)).toThrow('out of range');
});

describe('a claim instruction', () => {
  const claim = { ...epoch, payer: key(), index: 5_000, ...epoch.claim(0), proof: epoch.proof(0) };
  const { data, keys } = claimReward(claim);
  const pubkeys = keys.map(({ pubkey }) => pubkey);

  test('parseClaim decodes a claim instruction of any sender', () => {
    expect(parseClaim(data, pubkeys)).toEqual({
      payer: claim.payer,
      epochAccount: epoch.epochAccount,
      pageAccount: pageAddress(world.program, epoch.epochAccount, 1),
      wallet: claim.wallet,
      destination: associatedTokenAddress(claim.wallet, epoch.mint),
      index: 5_000,
      amount: 77n,
      proof: epoch.proof(0),
    });
    expect(parseClaim(new Uint8Array(claimReward({ ...claim, proof: [] }).data), pubkeys)?.proof).toEqual([]);
  });

  test('parseClaim returns null for any other instruction', () => {
    expect(parseClaim(data.subarray(0, -1), pubkeys)).toBeNull();
    expect(parseClaim(Buffer.alloc(0), pubkeys)).toBeNull();
    expect(parseClaim(data.subarray(0, 15), pubkeys)).toBeNull();
    expect(parseClaim(Buffer.concat([data, Buffer.alloc(13 * 32)]), pubkeys)).toBeNull();
    expect(parseClaim(Buffer.from([2, ...data.subarray(1)]), pubkeys)).toBeNull();
    expect(parseClaim(Buffer.from([1, 1, ...data.subarray(2)]), pubkeys)).toBeNull();
    expect(parseClaim(data, pubkeys.slice(1))).toBeNull();
    expect(parseClaim(data, [...pubkeys, key()])).toBeNull();
    expect(parseClaim(world.settling(epoch).data, pubkeys)).toBeNull();
  });

  test('claimReward and openEpoch throw for invalid values', () => {
    expect(() => claimReward({ ...claim, amount: -1n })).toThrow('out of range');
    expect(() => claimReward({ ...claim, amount: 2n ** 64n })).toThrow('out of range');
    expect(() => claimReward({ ...claim, index: 2 ** 32 })).toThrow('out of range');
    expect(() => claimReward({ ...claim, proof: [Buffer.alloc(31)] })).toThrow(RangeError);
    expect(() => claimReward({ ...claim, proof: Array.from({ length: 33 }, () => Buffer.alloc(32)) })).toThrow(RangeError);
    const planned = world.plan(epoch.mint, wallets(2), 9n);
    const open = { ...planned, payer: key(), refundOwner: key(), expiry: 5 };
    expect(openEpoch(open).data).toHaveLength(64);
    expect(() => openEpoch({ ...open, root: Buffer.alloc(33) })).toThrow(RangeError);
    expect(() => openEpoch({ ...open, expiry: 1.5 })).toThrow(RangeError);
    expect(() => openEpoch({ ...open, leaves: -1 })).toThrow('out of range');
  });
});
