import { describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey, SYSVAR_CLOCK_PUBKEY, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { associatedTokenAddress, mintTo, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { type Change, FEATURES } from './svm.ts';
import { wallets } from './tree.ts';
import { account, DAY, edited, key, World } from './world.ts';

const TOKEN_2022_PROGRAM = new PublicKey('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');

describe.each(FEATURES)('open, %s', (features) => {
  test('publishes an epoch that is funded, and says all of it', () => {
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

  test('may be paid for by the authority', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    world.svm.must([world.opening(epoch, { payer: epoch.authority })], [world.authority]);
    expect(world.state(epoch).state).toBe('open');
  });

  test('refuses a vault that does not hold the total, and takes one that holds more', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    expect(world.refusal([world.opening(epoch)], world.authority)).toBe('BadVault');
    expect(world.refusal([world.tokenAccount(epoch.epochAccount, epoch.mint), world.opening(epoch)], world.authority)).toBe('Unfunded');
    world.must(world.funding(epoch, epoch.total - 1n), world.authority);
    expect(world.refusal([world.opening(epoch)], world.authority)).toBe('Unfunded');
    world.must(world.funding(epoch, 100n), world.authority);
    world.must([world.opening(epoch)], world.authority);
  });

  test('refuses an epoch without leaves or without a total', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    expect(world.refusal([world.opening(epoch, { total: 0n })], world.authority)).toBe('EmptyEpoch');
    expect(world.refusal([world.opening(epoch, { leaves: 0 })], world.authority)).toBe('EmptyEpoch');
  });

  test('ends between a day and 400 days from now', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    const { now } = world.svm;
    const opening = world.opening(epoch);
    const at = (expiry: bigint) =>
      edited(opening, {
        data: (data) => {
          data.writeBigInt64LE(expiry, 24);
          return data;
        },
      });
    for (const expiry of [now + DAY - 1, now + 400 * DAY + 1, now, 0, -1]) {
      expect(world.refusal([at(BigInt(expiry))], world.authority)).toBe('BadExpiry');
    }
    expect(world.refusal([at(2n ** 63n - 1n)], world.authority)).toBe('BadExpiry');
    expect(world.refusal([at(-(2n ** 63n))], world.authority)).toBe('BadExpiry');
    world.must([at(BigInt(now + DAY))], world.authority);
    const later = world.plan(epoch.mint, wallets(5), 2n);
    world.must([...world.funding(later), world.opening(later, { expiry: now + 400 * DAY })], world.authority);
  });

  test('opens a number once: not while it is open, not when it is settled, never again', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(5));
    const again = [...world.funding(epoch), world.opening(epoch)];
    expect(world.refusal(again, world.authority)).toBe('AlreadyOpened');
    world.must([world.settling(epoch)], world.authority);
    expect(world.refusal(again, world.authority)).toBe('AlreadyOpened');
    world.must([world.closing(epoch)]);
    expect(world.refusal(again, world.authority)).toBe('AlreadyOpened');
    expect(world.state(epoch).state).toBe('closed');
  });

  test('keeps numbers apart by authority and by mint', () => {
    const world = new World(features);
    const claims = wallets(5);
    const first = world.open(world.mint(), claims);
    const second = world.open(world.mint(), claims);
    expect(second.epochAccount).not.toEqual(first.epochAccount);
    const stranger = Keypair.generate();
    const theirs = world.plan(first.mint, claims);
    const opening = world.opening(theirs, { authority: stranger.publicKey });
    expect(world.refusal([edited(opening, { keys: { 3: { pubkey: theirs.epochAccount } } })], stranger)).toBe('WrongAddress');
  });

  test('is signed by the authority whose epoch it is', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    expect(world.refusal([edited(world.opening(epoch), { keys: { 1: { isSigner: false } } })])).toBe('MissingSignature');
    expect(world.refusal([edited(world.opening(epoch), { keys: { 1: { pubkey: world.payer.publicKey } } })])).toBe('WrongAddress');
  });

  test('takes no other number’s address, and no other program as the system', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    const other = world.plan(epoch.mint, wallets(5), 2n);
    world.must([...world.funding(epoch), ...world.funding(other)], world.authority);
    expect(world.refusal([edited(world.opening(epoch), { keys: { 3: { pubkey: other.epochAccount } } })], world.authority)).toBe('WrongAddress');
    for (const pubkey of [TOKEN_PROGRAM, key(), SYSVAR_CLOCK_PUBKEY]) {
      expect(world.refusal([edited(world.opening(epoch), { keys: { 6: { pubkey } } })], world.authority)).toBe('WrongProgram');
    }
  });
});

describe.each(FEATURES)('the mint of an epoch, %s', (features) => {
  test('may freeze only where that is accepted', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(key()), wallets(5));
    world.must(world.funding(epoch), world.authority);
    expect(world.refusal([world.opening(epoch)], world.authority)).toBe('MintCanFreeze');
    world.must([world.opening(epoch, { mintMayFreeze: true })], world.authority);
  });

  test('is a mint of the classic token program, initialized', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    const real = world.svm.account(epoch.mint);
    const using = (change: Change) => world.svm.forging(epoch.mint, change, () => world.refusal([world.opening(epoch)], world.authority));
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

describe.each(FEATURES)('the vault of an epoch, %s', (features) => {
  test('is the epoch’s own associated token account and nothing else', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.plan(mint, wallets(5));
    const junk = world.plan(world.mint(), wallets(5));
    world.must([...world.funding(epoch), ...world.funding(junk)], world.authority);
    const using = (pubkey: PublicKey) => world.refusal([edited(world.opening(epoch), { keys: { 4: { pubkey } } })], world.authority);
    expect(using(junk.vault)).toBe('BadVault');
    expect(using(junk.mint)).toBe('BadVault');
    expect(using(mint)).toBe('BadAccounts'); // the mint again
    expect(using(key())).toBe('BadVault');

    // A token account of the mint that belongs to the epoch, at another address.
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

  test('is nobody else’s to take from, and not frozen', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    const real = world.svm.account(epoch.vault);
    const using = (change: Change) => world.svm.forging(epoch.vault, change, () => world.refusal([world.opening(epoch)], world.authority));
    expect(using(({ data }) => data.writeUInt32LE(1, 72))).toBe('BadVault'); // a delegate
    expect(using(({ data }) => data.writeUInt32LE(1, 129))).toBe('BadVault'); // a close authority
    expect(using(({ data }) => data.writeUInt8(0, 108))).toBe('BadVault'); // not initialized
    expect(using(({ data }) => data.writeUInt8(3, 108))).toBe('BadVault'); // a state that does not exist
    expect(using(({ data }) => data.writeUInt8(2, 108))).toBe('VaultFrozen');
    expect(using(({ data }) => data.fill(9, 32, 64))).toBe('BadVault'); // somebody else's
    expect(using(({ data }) => data.fill(9, 0, 32))).toBe('BadVault'); // of another mint
    expect(using({ owner: key() })).toBe('BadVault'); // written by another program
    expect(using({ data: Buffer.concat([real.data, Buffer.from([2])]) })).toBe('BadVault');
    expect(using({ data: real.data.subarray(0, 164) })).toBe('BadVault');
    expect(using(({ data }) => data.writeBigUInt64LE(epoch.total - 1n, 64))).toBe('Unfunded');
    world.must([world.opening(epoch)], world.authority);
  });
});

describe.each(FEATURES)('the refund account of an epoch, %s', (features) => {
  test('is an associated token account of the mint, of whoever', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.plan(mint, wallets(5));
    const somebody = Keypair.generate();
    const theirs = associatedTokenAddress(somebody.publicKey, mint);
    world.must([...world.funding(epoch), world.tokenAccount(somebody.publicKey, mint)], world.authority);
    const using = (pubkey: PublicKey) => world.refusal([edited(world.opening(epoch), { keys: { 5: { pubkey } } })], world.authority);
    expect(using(key())).toBe('BadRefund');
    expect(using(mint)).toBe('BadAccounts'); // the mint again
    expect(using(epoch.vault)).toBe('BadAccounts'); // the vault itself
    expect(using(associatedTokenAddress(world.treasury.publicKey, world.mint()))).toBe('BadRefund'); // of another mint

    // Given away: its owner could not be paid at this address again once it is closed.
    const given = Buffer.concat([Buffer.from([6, 2, 1]), key().toBuffer()]);
    const keys = [account(theirs, true), account(somebody.publicKey, false, true)];
    world.must([new TransactionInstruction({ programId: TOKEN_PROGRAM, keys, data: given })], somebody);
    expect(using(theirs)).toBe('WrongAddress');
    expect(using(epoch.refund)).toBeNull();
  });

  test('exists and is not frozen', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(5));
    world.must(world.funding(epoch), world.authority);
    const using = (change: Change) => world.svm.forging(epoch.refund, change, () => world.refusal([world.opening(epoch)], world.authority));
    expect(using(({ data }) => data.writeUInt8(2, 108))).toBe('RefundFrozen');
    expect(using(({ data }) => data.writeUInt8(0, 108))).toBe('BadRefund');
    expect(using({ owner: key() })).toBe('BadRefund');
    expect(using({ owner: SystemProgram.programId, data: Buffer.alloc(0) })).toBe('BadRefund');
    world.must([world.opening(epoch)], world.authority);
  });
});
