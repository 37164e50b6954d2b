import { describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey, SYSVAR_CLOCK_PUBKEY, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { associatedTokenAddress, mintTo, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { account, changedInstruction, key } from '../instructions.ts';
import { type AccountChange, FEATURES } from '../svm.ts';
import { wallets } from './tree.ts';
import { DAY, World } from './world.ts';

const TOKEN_2022_PROGRAM = new PublicKey('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');

describe.each(FEATURES)('open, %s', (features) => {
  test('open creates an epoch account with all fields', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5), 7n);
    world.must([...world.funding(epoch), world.opening(epoch)], world.authority);
    expect(world.state(epoch)).toMatchObject({
      state: 'open',
      epoch: 7n,
      root: epoch.root,
      leaves: 5,
      total: 5_010n,
      claimed: 0n,
      expiry: world.svm.now + 90 * DAY,
      authority: epoch.authority,
      mint: epoch.mint,
      vault: epoch.vault,
      refund: epoch.refund,
      refundOwner: world.treasury.publicKey,
    });
    expect(world.svm.lamports(epoch.epochAccount)).toBe(BigInt(world.svm.rent(240)));
  });

  test('the authority may pay for open', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    world.svm.must([world.opening(epoch, { payer: epoch.authority })], [world.authority]);
    expect(world.state(epoch).state).toBe('open');
  });

  test('open rejects a vault with less than the total and accepts a vault with more', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    expect(world.errorOf([world.opening(epoch)], world.authority)).toBe('BadVault');
    expect(world.errorOf([world.tokenAccount(epoch.epochAccount, epoch.mint), world.opening(epoch)], world.authority)).toBe('Unfunded');
    world.must(world.funding(epoch, epoch.total - 1n), world.authority);
    expect(world.errorOf([world.opening(epoch)], world.authority)).toBe('Unfunded');
    world.must(world.funding(epoch, 100n), world.authority);
    world.must([world.opening(epoch)], world.authority);
  });

  test('open rejects an epoch without leaves or without a total', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    expect(world.errorOf([world.opening(epoch, { total: 0n })], world.authority)).toBe('EmptyEpoch');
    expect(world.errorOf([world.opening(epoch, { leaves: 0 })], world.authority)).toBe('EmptyEpoch');
  });

  test('open accepts an expiry from 1 to 400 days ahead', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    const { now } = world.svm;
    const opening = world.opening(epoch);
    const at = (expiry: bigint) =>
      changedInstruction(opening, {
        data: (data) => {
          data.writeBigInt64LE(expiry, 24);
          return data;
        },
      });
    for (const expiry of [now + DAY - 1, now + 400 * DAY + 1, now, 0, -1]) {
      expect(world.errorOf([at(BigInt(expiry))], world.authority)).toBe('BadExpiry');
    }
    expect(world.errorOf([at(2n ** 63n - 1n)], world.authority)).toBe('BadExpiry');
    expect(world.errorOf([at(-(2n ** 63n))], world.authority)).toBe('BadExpiry');
    world.must([at(BigInt(now + DAY))], world.authority);
    const later = world.plan(epoch.mint, wallets(5), 2n);
    world.must([...world.funding(later), world.opening(later, { expiry: now + 400 * DAY })], world.authority);
  });

  test('open fails for a number that was opened before, also after settle and close', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(5));
    const again = [...world.funding(epoch), world.opening(epoch)];
    expect(world.errorOf(again, world.authority)).toBe('AlreadyOpened');
    world.must([world.settling(epoch)], world.authority);
    expect(world.errorOf(again, world.authority)).toBe('AlreadyOpened');
    world.must([world.closing(epoch)]);
    expect(world.errorOf(again, world.authority)).toBe('AlreadyOpened');
    expect(world.state(epoch).state).toBe('closed');
  });

  test('epoch numbers are separate for each authority and mint', () => {
    const world = new World(features);
    const claims = wallets(5);
    const first = world.open(world.mint(), claims);
    const second = world.open(world.mint(), claims);
    expect(second.epochAccount).not.toEqual(first.epochAccount);
    const stranger = Keypair.generate();
    const refund = world.plan(first.mint, claims);
    const opening = world.opening(refund, { authority: stranger.publicKey });
    expect(world.errorOf([changedInstruction(opening, { keys: { 3: { pubkey: refund.epochAccount } } })], stranger)).toBe('WrongAddress');
  });

  test('open needs the signature of the authority', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    expect(world.errorOf([changedInstruction(world.opening(epoch), { keys: { 1: { isSigner: false } } })])).toBe('MissingSignature');
    expect(world.errorOf([changedInstruction(world.opening(epoch), { keys: { 1: { pubkey: world.payer.publicKey } } })])).toBe('WrongAddress');
  });

  test('open rejects the address of another number, and another program as the system program', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    const other = world.plan(epoch.mint, wallets(5), 2n);
    world.must([...world.funding(epoch), ...world.funding(other)], world.authority);
    expect(world.errorOf([changedInstruction(world.opening(epoch), { keys: { 3: { pubkey: other.epochAccount } } })], world.authority)).toBe(
      'WrongAddress',
    );
    for (const pubkey of [TOKEN_PROGRAM, key(), SYSVAR_CLOCK_PUBKEY]) {
      expect(world.errorOf([changedInstruction(world.opening(epoch), { keys: { 6: { pubkey } } })], world.authority)).toBe('WrongProgram');
    }
  });
});

describe.each(FEATURES)('mint of an epoch, %s', (features) => {
  test('open rejects a mint with a freeze authority, unless the flag accepts it', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(key()), wallets(5));
    world.must(world.funding(epoch), world.authority);
    expect(world.errorOf([world.opening(epoch)], world.authority)).toBe('MintCanFreeze');
    world.must([world.opening(epoch, { mintMayFreeze: true })], world.authority);
  });

  test('open accepts only an initialized mint of the classic token program', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    const real = world.svm.account(epoch.mint);
    const using = (change: AccountChange) =>
      world.svm.withForgedAccount(epoch.mint, change, () => world.errorOf([world.opening(epoch)], world.authority));
    expect(using({ owner: TOKEN_2022_PROGRAM })).toBe('BadMint');
    expect(using({ owner: TOKEN_2022_PROGRAM, data: Buffer.concat([real.data, Buffer.alloc(200)]) })).toBe('BadMint');
    expect(using({ owner: key() })).toBe('BadMint');
    expect(using({ owner: SystemProgram.programId, data: Buffer.alloc(0) })).toBe('BadMint');
    expect(using({ data: real.data.subarray(0, 81) })).toBe('BadMint');
    expect(using({ data: Buffer.concat([real.data, Buffer.from([0])]) })).toBe('BadMint');
    expect(using({ data: Buffer.alloc(82) })).toBe('BadMint');
    expect(using({ data: world.svm.account(epoch.vault).data })).toBe('BadMint');
    world.must([world.opening(epoch)], world.authority);
  });
});

describe.each(FEATURES)('vault of an epoch, %s', (features) => {
  test('open accepts as vault only the associated token account of the epoch', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.plan(mint, wallets(5));
    const junk = world.plan(world.mint(), wallets(5));
    world.must([...world.funding(epoch), ...world.funding(junk)], world.authority);
    const using = (pubkey: PublicKey) => world.errorOf([changedInstruction(world.opening(epoch), { keys: { 4: { pubkey } } })], world.authority);
    expect(using(junk.vault)).toBe('BadVault');
    expect(using(junk.mint)).toBe('BadVault');
    expect(using(mint)).toBe('BadAccounts'); // the mint, which repeats an account
    expect(using(key())).toBe('BadVault');

    // A token account of the mint and the epoch at another address.
    const elsewhere = Keypair.generate();
    const create = SystemProgram.createAccount({
      fromPubkey: world.payer.publicKey,
      newAccountPubkey: elsewhere.publicKey,
      space: 165,
      lamports: world.svm.rent(165),
      programId: TOKEN_PROGRAM,
    });
    const initialize = new TransactionInstruction({
      programId: TOKEN_PROGRAM,
      keys: [account(elsewhere.publicKey, true), account(mint)],
      data: Buffer.concat([Buffer.from([18]), epoch.epochAccount.toBuffer()]),
    });
    world.must([create, initialize, mintTo(mint, elsewhere.publicKey, epoch.authority, epoch.total)], elsewhere, world.authority);
    expect(using(elsewhere.publicKey)).toBe('WrongAddress');
    world.must([world.opening(epoch)], world.authority);
  });

  test('open rejects a vault that is frozen or has a delegate or close authority', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    const real = world.svm.account(epoch.vault);
    const using = (change: AccountChange) =>
      world.svm.withForgedAccount(epoch.vault, change, () => world.errorOf([world.opening(epoch)], world.authority));
    expect(using(({ data }) => data.writeUInt32LE(1, 72))).toBe('BadVault'); // a delegate
    expect(using(({ data }) => data.writeUInt32LE(1, 129))).toBe('BadVault'); // a close authority
    expect(using(({ data }) => data.writeUInt8(0, 108))).toBe('BadVault'); // not initialized
    expect(using(({ data }) => data.writeUInt8(3, 108))).toBe('BadVault'); // a state that does not exist
    expect(using(({ data }) => data.writeUInt8(2, 108))).toBe('VaultFrozen');
    expect(using(({ data }) => data.fill(9, 32, 64))).toBe('BadVault'); // of another owner
    expect(using(({ data }) => data.fill(9, 0, 32))).toBe('BadVault'); // of another mint
    expect(using({ owner: key() })).toBe('BadVault'); // written by another program
    expect(using({ data: Buffer.concat([real.data, Buffer.from([2])]) })).toBe('BadVault');
    expect(using({ data: real.data.subarray(0, 164) })).toBe('BadVault');
    expect(using(({ data }) => data.writeBigUInt64LE(epoch.total - 1n, 64))).toBe('Unfunded');
    world.must([world.opening(epoch)], world.authority);
  });
});

describe.each(FEATURES)('refund account of an epoch, %s', (features) => {
  test('open accepts as refund account the associated token account of any owner', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.plan(mint, wallets(5));
    const owner = Keypair.generate();
    const refund = associatedTokenAddress(owner.publicKey, mint);
    world.must([...world.funding(epoch), world.tokenAccount(owner.publicKey, mint)], world.authority);
    const using = (pubkey: PublicKey) => world.errorOf([changedInstruction(world.opening(epoch), { keys: { 5: { pubkey } } })], world.authority);
    expect(using(key())).toBe('BadRefund');
    expect(using(mint)).toBe('BadAccounts'); // the mint, which repeats an account
    expect(using(epoch.vault)).toBe('BadAccounts'); // the vault itself
    expect(using(associatedTokenAddress(world.treasury.publicKey, world.mint()))).toBe('BadRefund'); // of another mint

    // Changes the owner. After closing, the account could not be created again for this owner at this address.
    const setOwner = Buffer.concat([Buffer.from([6, 2, 1]), key().toBuffer()]);
    const keys = [account(refund, true), account(owner.publicKey, false, true)];
    world.must([new TransactionInstruction({ programId: TOKEN_PROGRAM, keys, data: setOwner })], owner);
    expect(using(refund)).toBe('WrongAddress');
    expect(using(epoch.refund)).toBeNull();
  });

  test('open rejects a refund account that does not exist or is frozen', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    const using = (change: AccountChange) =>
      world.svm.withForgedAccount(epoch.refund, change, () => world.errorOf([world.opening(epoch)], world.authority));
    expect(using(({ data }) => data.writeUInt8(2, 108))).toBe('RefundFrozen');
    expect(using(({ data }) => data.writeUInt8(0, 108))).toBe('BadRefund');
    expect(using({ owner: key() })).toBe('BadRefund');
    expect(using({ owner: SystemProgram.programId, data: Buffer.alloc(0) })).toBe('BadRefund');
    world.must([world.opening(epoch)], world.authority);
  });
});
