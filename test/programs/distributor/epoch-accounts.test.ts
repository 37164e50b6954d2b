import { describe, expect, test } from '@jest/globals';
import { ComputeBudgetProgram, Keypair, type PublicKey, SYSVAR_CLOCK_PUBKEY, SYSVAR_RENT_PUBKEY, SystemProgram } from '@solana/web3.js';
import { epochAddress, vaultAddress } from '#platform/solana/distributor/index.ts';
import { ASSOCIATED_TOKEN_PROGRAM, associatedTokenAddress, MEMO_PROGRAM, mintTo, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { changedInstruction, fixture, key } from '../instructions.ts';
import { type AccountChange, FEATURES } from '../svm.ts';
import { treeOfPath, wallets } from './tree.ts';
import { PROGRAM_BYTES, World } from './world.ts';

describe.each(FEATURES)('accounts of a claim, %s', (features) => {
  test('a claim rejects accounts of another epoch', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, wallets(4), 1n);
    const other = world.open(mint, wallets(4), 2n);
    const foreign = world.open(world.mint(), wallets(4), 1n);
    world.destination(epoch, 0);
    const using = (keys: Record<number, PublicKey>) => {
      const changed = Object.fromEntries(Object.entries(keys).map(([i, pubkey]) => [i, { pubkey }]));
      return world.errorOf([changedInstruction(world.claiming(epoch, 0), { keys: changed })]);
    };
    expect(using({ 1: other.epochAccount })).toBe('BadProof');
    expect(using({ 1: foreign.epochAccount })).toBe('BadProof');
    expect(using({ 3: other.vault })).toBe('WrongAddress');
    expect(using({ 3: foreign.vault })).toBe('WrongAddress');
    expect(using({ 3: epoch.refund })).toBe('WrongAddress');
    expect(using({ 4: key() })).toBe('BadProof');
    expect(using({})).toBeNull();
  });

  test('a claim rejects a vault of another mint', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    const junk = world.mint();
    const vault = vaultAddress(epoch.epochAccount, junk);
    const { wallet } = epoch.claim(0);
    world.must([world.tokenAccount(epoch.epochAccount, junk), mintTo(junk, vault, epoch.authority, 5_000n)], world.authority);
    world.must([world.tokenAccount(wallet, junk), world.tokenAccount(wallet, epoch.mint)]);
    const worthless = changedInstruction(world.claiming(epoch, 0), {
      keys: { 3: { pubkey: vault }, 5: { pubkey: associatedTokenAddress(wallet, junk) } },
    });
    expect(world.errorOf([worthless])).toBe('WrongAddress');
    world.must([world.claiming(epoch, 0)]);
  });

  test('a claim rejects another program in place of the token program or the system program', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    world.destination(epoch, 0);
    const impostors = [ComputeBudgetProgram.programId, MEMO_PROGRAM, ASSOCIATED_TOKEN_PROGRAM, SYSVAR_RENT_PUBKEY, SYSVAR_CLOCK_PUBKEY, key()];
    for (const pubkey of impostors) {
      expect(world.errorOf([changedInstruction(world.claiming(epoch, 0), { keys: { 6: { pubkey } } })])).toBe('WrongProgram');
      expect(world.errorOf([changedInstruction(world.claiming(epoch, 0), { keys: { 7: { pubkey } } })])).toBe('WrongProgram');
    }
    const swapped = { 6: { pubkey: SystemProgram.programId }, 7: { pubkey: TOKEN_PROGRAM } };
    expect(world.errorOf([changedInstruction(world.claiming(epoch, 0), { keys: swapped })])).toBe('WrongProgram');
    world.must([world.claiming(epoch, 0)]);
    // The page exists, so this claim does not call the system program, but its address is still checked.
    world.destination(epoch, 1);
    expect(world.errorOf([changedInstruction(world.claiming(epoch, 1), { keys: { 7: { pubkey: key() } } })])).toBe('WrongProgram');
  });

  test('a claim gives no signature to a false token program that would take the vault', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    const thief = key();
    world.svm.addProgram(thief, fixture('thief'));
    const before = world.svm.account(epoch.vault);
    const claiming = changedInstruction(world.claiming(epoch, 0), { keys: { 6: { pubkey: thief } } });
    expect(world.errorOf([world.tokenAccount(epoch.claim(0).wallet, epoch.mint), claiming])).toBe('WrongProgram');
    for (const ending of [world.settling(epoch), world.closing(epoch)]) {
      const stolen = changedInstruction(ending, { keys: { 4: { pubkey: thief } } });
      expect(world.errorOf([world.tokenAccount(epoch.claim(0).wallet, epoch.mint), stolen], world.authority)).toBe('WrongProgram');
    }
    expect(world.svm.account(epoch.vault)).toEqual(before);
  });

  test('a claim rejects an epoch of another copy of the program', () => {
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
    const mixed = changedInstruction(world.claiming(epoch, 0), { keys: { 1: { pubkey: theirs }, 3: { pubkey: vault } } });
    expect(world.errorOf([mixed])).toBe('NotAnEpoch');
    expect(world.errorOf([changedInstruction(world.claiming(epoch, 0), { program: copy })])).toBe('NotAnEpoch');
  });

  test('a claim rejects a page in place of the epoch', () => {
    const world = new World(features);
    const path = { index: 0, depth: 3, leaves: (240 - 48) * 8, claim: { wallet: key(), amount: 5n } };
    const epoch = world.open(world.mint(), treeOfPath(path));
    world.claim(epoch, 0);
    const page = world.page(epoch, 0);
    expect(world.svm.account(page).data).toHaveLength(240);
    const asEpoch = changedInstruction(world.claiming(epoch, 0), { keys: { 1: { pubkey: page }, 2: { pubkey: key() } } });
    expect(world.errorOf([asEpoch])).toBe('NotAnEpoch');
    const settling = changedInstruction(world.settling(epoch), { keys: { 1: { pubkey: page } } });
    expect(world.errorOf([settling], world.authority)).toBe('NotAnEpoch');
  });

  test('a claim rejects an epoch account that is forged, longer, shorter or at another address', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    world.claim(epoch, 1);
    world.destination(epoch, 0);
    const { data } = world.svm.account(epoch.epochAccount);
    const using = (change: AccountChange) => world.svm.withForgedAccount(epoch.epochAccount, change, () => world.errorOf([world.claiming(epoch, 0)]));
    expect(using({ owner: key() })).toBe('NotAnEpoch');
    expect(using({ owner: SystemProgram.programId, data: Buffer.alloc(0) })).toBe('NotAnEpoch');
    for (const length of [0, 7, 8, 239]) expect(using({ data: data.subarray(0, length) })).toBe('NotAnEpoch');
    expect(using({ data: Buffer.concat([data, Buffer.alloc(1)]) })).toBe('NotAnEpoch');
    expect(using({ data: Buffer.alloc(240) })).toBe('NotAnEpoch');
    expect(using((account) => account.data.write('CoinopPg'))).toBe('NotAnEpoch');
    expect(using((account) => account.data.writeUInt8(2, 8))).toBe('NotAnEpoch'); // another version
    expect(using((account) => account.data.writeUInt8(0, 9))).toBe('NotOpen'); // an invalid state
    expect(using((account) => account.data.writeUInt8(4, 9))).toBe('NotOpen');
    expect(using((account) => account.data.writeUInt8(data.readUInt8(10) - 1, 10))).toBe('WrongAddress'); // another bump
    expect(using((account) => account.data.writeBigUInt64LE(2n, 16))).toBe('WrongAddress'); // another number
    expect(using((account) => account.data.fill(1, 80, 112))).toBe('WrongAddress'); // another authority
    expect(using((account) => account.data.fill(1, 112, 144))).toBe('WrongAddress'); // another mint
    expect(using({})).toBeNull();

    const copied = key();
    world.svm.set(copied, world.svm.account(epoch.epochAccount));
    expect(world.errorOf([changedInstruction(world.claiming(epoch, 2), { keys: { 1: { pubkey: copied } } })])).toBe('WrongAddress');
  });

  test('a claim rejects a vault that was changed after the opening of the epoch', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(4));
    world.destination(epoch, 0);
    const { data } = world.svm.account(epoch.vault);
    const using = (change: AccountChange) => world.svm.withForgedAccount(epoch.vault, change, () => world.errorOf([world.claiming(epoch, 0)]));
    expect(using({ owner: key() })).toBe('BadVault');
    expect(using({ owner: SystemProgram.programId, data: Buffer.alloc(0) })).toBe('BadVault');
    expect(using({ data: data.subarray(0, 164) })).toBe('BadVault');
    expect(using((account) => account.data.fill(1, 0, 32))).toBe('BadVault');
    expect(using((account) => account.data.fill(1, 32, 64))).toBe('BadVault');
    expect(using((account) => account.data.writeUInt8(0, 108))).toBe('BadVault');
    expect(using((account) => account.data.writeUInt8(2, 108))).toBe('VaultFrozen');
    // No instruction can empty the vault like this; the transfer of the token program fails, and the claim with it.
    expect(using((account) => account.data.writeBigUInt64LE(999n, 64))).toBe('Custom 1');
    expect(world.isClaimed(epoch, 0)).toBe(false);
    expect(using({})).toBeNull();
  });
});
