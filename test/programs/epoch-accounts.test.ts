import { describe, expect, test } from '@jest/globals';
import { ComputeBudgetProgram, Keypair, type PublicKey, SYSVAR_CLOCK_PUBKEY, SYSVAR_RENT_PUBKEY, SystemProgram } from '@solana/web3.js';
import { epochAddress, vaultAddress } from '#platform/solana/distributor/index.ts';
import { ASSOCIATED_TOKEN_PROGRAM, associatedTokenAddress, MEMO_PROGRAM, mintTo, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { type Change, FEATURES } from './svm.ts';
import { planOfPath, wallets } from './tree.ts';
import { edited, fixture, key, PROGRAM_BYTES, World } from './world.ts';

describe.each(FEATURES)('the accounts of a claim, %s', (features) => {
  test('are of one epoch: none is taken from another', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, wallets(4), 1n);
    const other = world.open(mint, wallets(4), 2n);
    const foreign = world.open(world.mint(), wallets(4), 1n);
    world.destination(epoch, 0);
    const using = (keys: Record<number, PublicKey>) => {
      const changed = Object.fromEntries(Object.entries(keys).map(([i, pubkey]) => [i, { pubkey }]));
      return world.refusal([edited(world.claiming(epoch, 0), { keys: changed })]);
    };
    expect(using({ 1: other.epochAccount })).toBe('BadProof');
    expect(using({ 1: foreign.epochAccount })).toBe('BadProof');
    expect(using({ 3: other.vault })).toBe('WrongAddress');
    expect(using({ 3: foreign.vault })).toBe('WrongAddress');
    expect(using({ 3: epoch.refund })).toBe('WrongAddress');
    expect(using({ 4: key() })).toBe('BadProof');
    expect(using({})).toBeNull();
  });

  test('have no worthless vault: one of another mint that belongs to the epoch pays nobody', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    const junk = world.mint();
    const vault = vaultAddress(epoch.epochAccount, junk);
    const { wallet } = epoch.claim(0);
    world.must([world.tokenAccount(epoch.epochAccount, junk), mintTo(junk, vault, epoch.authority, 5_000n)], world.authority);
    world.must([world.tokenAccount(wallet, junk), world.tokenAccount(wallet, epoch.mint)]);
    const worthless = edited(world.claiming(epoch, 0), { keys: { 3: { pubkey: vault }, 5: { pubkey: associatedTokenAddress(wallet, junk) } } });
    expect(world.refusal([worthless])).toBe('WrongAddress');
    world.must([world.claiming(epoch, 0)]);
  });

  test('name the token program and the system program, and nothing that does nothing instead', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    world.destination(epoch, 0);
    const impostors = [ComputeBudgetProgram.programId, MEMO_PROGRAM, ASSOCIATED_TOKEN_PROGRAM, SYSVAR_RENT_PUBKEY, SYSVAR_CLOCK_PUBKEY, key()];
    for (const pubkey of impostors) {
      expect(world.refusal([edited(world.claiming(epoch, 0), { keys: { 6: { pubkey } } })])).toBe('WrongProgram');
      expect(world.refusal([edited(world.claiming(epoch, 0), { keys: { 7: { pubkey } } })])).toBe('WrongProgram');
    }
    const swapped = { 6: { pubkey: SystemProgram.programId }, 7: { pubkey: TOKEN_PROGRAM } };
    expect(world.refusal([edited(world.claiming(epoch, 0), { keys: swapped })])).toBe('WrongProgram');
    world.must([world.claiming(epoch, 0)]);
    // The page is there now, so that a later claim needs no system program; it is asked for all the same.
    world.destination(epoch, 1);
    expect(world.refusal([edited(world.claiming(epoch, 1), { keys: { 7: { pubkey: key() } } })])).toBe('WrongProgram');
  });

  test('hand no signature to a program that takes the vault', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    const thief = key();
    world.svm.addProgram(thief, fixture('thief'));
    const before = world.svm.account(epoch.vault);
    const claiming = edited(world.claiming(epoch, 0), { keys: { 6: { pubkey: thief } } });
    expect(world.refusal([world.tokenAccount(epoch.claim(0).wallet, epoch.mint), claiming])).toBe('WrongProgram');
    for (const ending of [world.settling(epoch), world.closing(epoch)]) {
      const stolen = edited(ending, { keys: { 4: { pubkey: thief } } });
      expect(world.refusal([world.tokenAccount(epoch.claim(0).wallet, epoch.mint), stolen], world.authority)).toBe('WrongProgram');
    }
    expect(world.svm.account(epoch.vault)).toEqual(before);
  });

  test('are an epoch of this program, not of another copy of it', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    const copy = key();
    world.svm.addProgram(copy, PROGRAM_BYTES);
    const authority = Keypair.generate();
    const theirs = epochAddress(copy, authority.publicKey, epoch.mint, 1n);
    const vault = vaultAddress(theirs, epoch.mint);
    world.must([world.tokenAccount(theirs, epoch.mint), mintTo(epoch.mint, vault, epoch.authority, epoch.total)], world.authority);
    world.must([world.opening(epoch, { program: copy, authority: authority.publicKey })], authority);
    world.destination(epoch, 0);
    const mixed = edited(world.claiming(epoch, 0), { keys: { 1: { pubkey: theirs }, 3: { pubkey: vault } } });
    expect(world.refusal([mixed])).toBe('NotAnEpoch');
    expect(world.refusal([edited(world.claiming(epoch, 0), { program: copy })])).toBe('NotAnEpoch');
  });

  test('are an epoch, not a page of the same length', () => {
    const world = new World(features);
    const path = { index: 0, depth: 3, leaves: (240 - 48) * 8, claim: { wallet: key(), amount: 5n } };
    const epoch = world.open(world.mint(), planOfPath(path));
    world.claim(epoch, 0);
    const page = world.page(epoch, 0);
    expect(world.svm.account(page).data).toHaveLength(240);
    const asEpoch = edited(world.claiming(epoch, 0), { keys: { 1: { pubkey: page }, 2: { pubkey: key() } } });
    expect(world.refusal([asEpoch])).toBe('NotAnEpoch');
    const settling = edited(world.settling(epoch), { keys: { 1: { pubkey: page } } });
    expect(world.refusal([settling], world.authority)).toBe('NotAnEpoch');
  });

  test('are an epoch as it was made: forged, longer, shorter, or at another address it is refused', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    world.claim(epoch, 1);
    world.destination(epoch, 0);
    const { data } = world.svm.account(epoch.epochAccount);
    const using = (change: Change) => world.svm.forging(epoch.epochAccount, change, () => world.refusal([world.claiming(epoch, 0)]));
    expect(using({ owner: key() })).toBe('NotAnEpoch');
    expect(using({ owner: SystemProgram.programId, data: Buffer.alloc(0) })).toBe('NotAnEpoch');
    for (const length of [0, 7, 8, 239]) expect(using({ data: data.subarray(0, length) })).toBe('NotAnEpoch');
    expect(using({ data: Buffer.concat([data, Buffer.alloc(1)]) })).toBe('NotAnEpoch');
    expect(using({ data: Buffer.alloc(240) })).toBe('NotAnEpoch');
    expect(using((account) => account.data.write('CoinopPg'))).toBe('NotAnEpoch');
    expect(using((account) => account.data.writeUInt8(2, 8))).toBe('NotAnEpoch'); // another version
    expect(using((account) => account.data.writeUInt8(0, 9))).toBe('NotOpen'); // no state
    expect(using((account) => account.data.writeUInt8(4, 9))).toBe('NotOpen');
    expect(using((account) => account.data.writeUInt8(data.readUInt8(10) - 1, 10))).toBe('WrongAddress'); // another bump
    expect(using((account) => account.data.writeBigUInt64LE(2n, 16))).toBe('WrongAddress'); // another number
    expect(using((account) => account.data.fill(1, 80, 112))).toBe('WrongAddress'); // another authority
    expect(using((account) => account.data.fill(1, 112, 144))).toBe('WrongAddress'); // another mint
    expect(using({})).toBeNull();

    const copied = key();
    world.svm.set(copied, world.svm.account(epoch.epochAccount));
    expect(world.refusal([edited(world.claiming(epoch, 2), { keys: { 1: { pubkey: copied } } })])).toBe('WrongAddress');
  });

  test('have the vault as it was when the epoch was opened', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    world.destination(epoch, 0);
    const { data } = world.svm.account(epoch.vault);
    const using = (change: Change) => world.svm.forging(epoch.vault, change, () => world.refusal([world.claiming(epoch, 0)]));
    expect(using({ owner: key() })).toBe('BadVault');
    expect(using({ owner: SystemProgram.programId, data: Buffer.alloc(0) })).toBe('BadVault');
    expect(using({ data: data.subarray(0, 164) })).toBe('BadVault');
    expect(using((account) => account.data.fill(1, 0, 32))).toBe('BadVault');
    expect(using((account) => account.data.fill(1, 32, 64))).toBe('BadVault');
    expect(using((account) => account.data.writeUInt8(0, 108))).toBe('BadVault');
    expect(using((account) => account.data.writeUInt8(2, 108))).toBe('VaultFrozen');
    // Emptied, as nothing can: the token program refuses, and the whole claim with it.
    expect(using((account) => account.data.writeBigUInt64LE(999n, 64))).toBe('Custom 1');
    expect(world.isClaimed(epoch, 0)).toBe(false);
    expect(using({})).toBeNull();
  });
});
