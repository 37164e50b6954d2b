import { describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { associatedTokenAddress, TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM, u64 } from '#platform/solana/tokens.ts';
import { account, changedInstruction, key } from '../instructions.ts';
import { type AccountChange, FEATURES } from '../svm.ts';
import { wallets } from './tree.ts';
import { type SvmEpoch, World } from './world.ts';

const to = (world: World, epoch: SvmEpoch, index: number, pubkey: PublicKey) =>
  changedInstruction(world.claiming(epoch, index), { keys: { 5: { pubkey } } });

/** Builds an instruction of the token program, signed by an account's owner or the freeze authority. */
const token = (data: readonly number[], keys: readonly PublicKey[], signer: PublicKey) =>
  new TransactionInstruction({
    programId: TOKEN_PROGRAM,
    keys: [...keys.map((pubkey) => account(pubkey, true)), account(signer, false, true)],
    data: Buffer.from(data),
  });

describe.each(FEATURES)('destination of a claim, %s', (features) => {
  test('a claim accepts only the associated token account of the leaf’s wallet', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, wallets(4));
    world.destination(epoch, 0);
    const other = world.destination(epoch, 1);
    const junk = world.mint();
    world.must([world.tokenAccount(epoch.claim(0).wallet, junk), world.tokenAccount(world.payer.publicKey, mint)]);
    const refused = (pubkey: PublicKey) => expect(world.errorOf([to(world, epoch, 0, pubkey)])).toBe('WrongAddress');
    refused(other); // of another wallet
    refused(associatedTokenAddress(world.payer.publicKey, mint)); // of the payer
    refused(associatedTokenAddress(epoch.claim(0).wallet, junk)); // of another mint
    refused(epoch.refund);
    refused(key());
    refused(mint);
    expect(world.errorOf([to(world, epoch, 0, epoch.vault)])).toBe('BadAccounts');
    expect(world.errorOf([to(world, epoch, 0, epoch.claim(0).wallet)])).toBe('BadAccounts');
    world.must([world.claiming(epoch, 0)]);
  });

  test('a claim rejects a token account of the wallet that a stranger can close', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(2));
    const { wallet } = epoch.claim(0);
    const [made, stranger] = [Keypair.generate(), Keypair.generate()];
    const create = SystemProgram.createAccount({
      fromPubkey: world.payer.publicKey,
      newAccountPubkey: made.publicKey,
      space: TOKEN_ACCOUNT_BYTES,
      lamports: world.svm.rent(TOKEN_ACCOUNT_BYTES),
      programId: TOKEN_PROGRAM,
    });
    const initialize = new TransactionInstruction({
      programId: TOKEN_PROGRAM,
      keys: [account(made.publicKey, true), account(epoch.mint)],
      data: Buffer.from([18, ...stranger.publicKey.toBytes()]),
    });
    const setAuthority = (kind: number, to: PublicKey) => token([6, kind, 1, ...to.toBytes()], [made.publicKey], stranger.publicKey);
    world.must([create, initialize, setAuthority(3, stranger.publicKey), setAuthority(2, wallet)], made, stranger);
    expect(world.errorOf([to(world, epoch, 0, made.publicKey)])).toBe('WrongAddress');
  });

  test('a claim without a token account fails with NoDestination and succeeds after its opening', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(2));
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('NoDestination');
    world.svm.fund(associatedTokenAddress(epoch.claim(0).wallet, epoch.mint), 5_000_000n);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('NoDestination');
    world.claim(epoch, 0);
  });

  test('a claim succeeds after the wallet closed its token account and opened it again', () => {
    const world = new World(features);
    const wallet = Keypair.generate();
    const epoch = world.open(world.mint(), [{ wallet: wallet.publicKey, amount: 5n }, ...wallets(1)]);
    const destination = world.destination(epoch, 0);
    world.must([token([9], [destination, world.payer.publicKey], wallet.publicKey)], wallet);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('NoDestination');
    world.claim(epoch, 0);
    expect(world.paid(epoch, 0)).toBe(5n);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('AlreadyClaimed');
  });

  test('a claim to a frozen token account fails and stays open', () => {
    const world = new World(features);
    const freezer = Keypair.generate();
    const epoch = world.open(world.mint(freezer.publicKey), wallets(3));
    world.claim(epoch, 1);
    const destination = world.destination(epoch, 0);
    world.must([token([10], [destination, epoch.mint], freezer.publicKey)], freezer);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('DestinationFrozen');
    expect(world.isClaimed(epoch, 0)).toBe(false);
    expect(world.state(epoch).claimed).toBe(1_001n);
    world.must([token([11], [destination, epoch.mint], freezer.publicKey)], freezer);
    world.must([world.claiming(epoch, 0)]);
    expect(world.paid(epoch, 0)).toBe(1_000n);
  });

  test('a claim rejects an associated token account with a changed owner', () => {
    const world = new World(features);
    const wallet = Keypair.generate();
    const buyer = Keypair.generate();
    const epoch = world.open(world.mint(), [{ wallet: wallet.publicKey, amount: 5n }, ...wallets(1)]);
    const destination = world.destination(epoch, 0);
    world.must([token([6, 2, 1, ...buyer.publicKey.toBytes()], [destination], wallet.publicKey)], wallet);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('BadDestination');
    world.must([token([6, 2, 1, ...wallet.publicKey.toBytes()], [destination], buyer.publicKey)], buyer);
    world.must([world.claiming(epoch, 0)]);
  });

  test('a claim accepts a token account with a delegate', () => {
    const world = new World(features);
    const wallet = Keypair.generate();
    const epoch = world.open(world.mint(), [{ wallet: wallet.publicKey, amount: 5n }, ...wallets(1)]);
    const destination = world.destination(epoch, 0);
    world.must([token([4, ...u64(1_000n)], [destination, key()], wallet.publicKey)], wallet);
    world.must([world.claiming(epoch, 0)]);
    expect(world.paid(epoch, 0)).toBe(5n);
  });

  test('a claim rejects a destination that is not a token account of the token program', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(2));
    const destination = world.destination(epoch, 0);
    const { data } = world.svm.account(destination);
    const using = (change: AccountChange) => world.svm.withForgedAccount(destination, change, () => world.errorOf([world.claiming(epoch, 0)]));
    expect(using({ owner: key() })).toBe('BadDestination');
    expect(using({ owner: world.program })).toBe('BadDestination');
    expect(using({ data: data.subarray(0, 164) })).toBe('BadDestination');
    expect(using({ data: Buffer.concat([data, Buffer.alloc(1)]) })).toBe('BadDestination');
    expect(using({ data: Buffer.alloc(0) })).toBe('BadDestination');
    expect(using((account) => account.data.writeUInt8(0, 108))).toBe('BadDestination');
    expect(using((account) => account.data.fill(1, 0, 32))).toBe('BadDestination');
    expect(using((account) => account.data.fill(1, 32, 64))).toBe('BadDestination');
    expect(using({})).toBeNull();
  });

  test('a claim whose leaf names the epoch account cannot pay the vault', () => {
    const world = new World(features);
    const mint = world.mint();
    const itself = world.plan(mint, wallets(1)).epochAccount;
    const epoch = world.open(mint, [{ wallet: itself, amount: 50n }, ...wallets(1)]);
    expect(epoch.epochAccount).toEqual(itself);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('BadAccounts');
    expect(world.state(epoch).claimed).toBe(0n);
  });

  test('a claim accepts a wallet that is a program-derived address', () => {
    const world = new World(features);
    const [wallet] = PublicKey.findProgramAddressSync([Buffer.from('a program’s own')], key());
    const epoch = world.open(world.mint(), [{ wallet, amount: 50n }]);
    world.claim(epoch, 0);
    expect(world.paid(epoch, 0)).toBe(50n);
  });
});
