import { describe, expect, test } from '@jest/globals';
import { Keypair, type PublicKey, SystemProgram } from '@solana/web3.js';
import { pageAddress } from '#platform/solana/distributor/index.ts';
import { associatedTokenAddress, mintTo, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { changedInstruction, key } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { treeOfPath, wallets } from './tree.ts';
import { DAY, World } from './world.ts';

describe.each(FEATURES)('settle, %s', (features) => {
  test('settle ends an epoch early and refunds the unclaimed tokens, and cannot be repeated', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch)], world.authority);
    expect(world.state(epoch)).toMatchObject({ state: 'settled', claimed: 1_000n, total: 3_003n });
    expect(world.balance(epoch.refund)).toBe(2_003n);
    expect(world.balance(epoch.vault)).toBe(0n);
    expect(world.errorOf([world.settling(epoch)], world.authority)).toBe('NotOpen');
  });

  test('settle needs the signature of the authority', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    const stranger = Keypair.generate();
    const theirs = changedInstruction(world.settling(epoch), { keys: { 0: { pubkey: stranger.publicKey } } });
    expect(world.errorOf([theirs], stranger)).toBe('WrongAuthority');
    expect(world.errorOf([changedInstruction(theirs, { keys: { 0: { pubkey: world.payer.publicKey } } })])).toBe('WrongAuthority');
    expect(world.errorOf([changedInstruction(world.settling(epoch), { keys: { 0: { isSigner: false } } })])).toBe('MissingSignature');
    expect(world.state(epoch).state).toBe('open');
  });

  test('settle refunds a surplus over the total, and works with an empty vault', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, wallets(1), 1n);
    world.must([mintTo(mint, epoch.vault, epoch.authority, 500n)], world.authority);
    world.must([world.settling(epoch)], world.authority);
    expect(world.balance(epoch.refund)).toBe(1_500n);
    const spent = world.open(mint, wallets(1), 2n);
    world.claim(spent, 0);
    world.must([world.settling(spent)], world.authority);
    expect(world.balance(spent.refund)).toBe(1_500n);
    expect(world.state(spent).state).toBe('settled');
  });

  test('settle works after the expiry and fails after close', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(1));
    world.svm.now += 90 * DAY;
    world.must([world.settling(epoch)], world.authority);
    world.must([world.closing(epoch)]);
    expect(world.errorOf([world.settling(epoch)], world.authority)).toBe('NotOpen');
  });
});

describe.each(FEATURES)('close, %s', (features) => {
  test('close refunds tokens to the refund account and lamports to the authority, and keeps the epoch account', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 2);
    world.svm.now = world.state(epoch).expiry;
    const before = world.svm.lamports(epoch.authority);
    const rent = world.svm.lamports(epoch.vault);
    world.must([world.closing(epoch)]);
    expect(world.balance(epoch.refund)).toBe(2_001n);
    expect(world.svm.get(epoch.vault)).toBeNull();
    expect(world.svm.lamports(epoch.authority) - before).toBe(rent);
    expect(world.state(epoch)).toMatchObject({ state: 'closed', claimed: 1_002n, total: 3_003n, root: epoch.root });
    expect(world.errorOf([world.closing(epoch)])).toBe('NotOpen');
  });

  test('close fails before the expiry, unless the epoch is settled', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    expect(world.errorOf([world.closing(epoch)])).toBe('NotExpired');
    expect(world.errorOf([world.closing(epoch)], world.authority)).toBe('NotExpired');
    world.svm.now = world.state(epoch).expiry - 1;
    expect(world.errorOf([world.closing(epoch)])).toBe('NotExpired');
    world.svm.now += 1;
    world.must([world.closing(epoch)]);
    const settled = world.open(epoch.mint, wallets(3), 2n);
    world.must([world.settling(settled), world.closing(settled)], world.authority);
    expect(world.balance(epoch.refund)).toBe(2n * epoch.total);
  });

  test('close refunds a surplus and tokens that arrived after settle', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(1));
    world.must([world.settling(epoch), mintTo(epoch.mint, epoch.vault, epoch.authority, 77n)], world.authority);
    world.must([world.closing(epoch)]);
    expect(world.balance(epoch.refund)).toBe(1_077n);
  });

  test('close rejects other accounts for tokens and lamports', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, wallets(3));
    const other = world.open(mint, wallets(3), 2n);
    const stranger = Keypair.generate().publicKey;
    world.must([world.tokenAccount(stranger, mint)]);
    world.svm.now += 90 * DAY;
    const using = (i: number, pubkey: PublicKey) => world.errorOf([changedInstruction(world.closing(epoch), { keys: { [i]: { pubkey } } })]);
    expect(using(0, other.epochAccount)).toBe('WrongAddress'); // with the vault of this epoch
    expect(using(1, other.vault)).toBe('WrongAddress');
    expect(using(2, associatedTokenAddress(stranger, mint))).toBe('WrongAddress');
    expect(using(2, other.vault)).toBe('WrongAddress');
    expect(using(3, stranger)).toBe('WrongAuthority');
    expect(using(3, world.payer.publicKey)).toBe('WrongAuthority');
    expect(using(4, SystemProgram.programId)).toBe('WrongProgram');
    expect(using(4, key())).toBe('WrongProgram');
    world.must([world.closing(epoch)]);
  });

  test('close and settle check the refund account only when the vault has tokens', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, wallets(1), 1n);
    const spent = world.open(mint, wallets(1), 2n);
    world.claim(spent, 0);
    const missing = { owner: SystemProgram.programId, data: Buffer.alloc(0) };
    world.svm.withForgedAccount(epoch.refund, missing, () => {
      expect(world.errorOf([world.settling(epoch)], world.authority)).toBe('BadRefund');
      world.must([world.settling(spent), world.closing(spent)], world.authority);
      world.svm.now += 90 * DAY;
      expect(world.errorOf([world.closing(epoch)])).toBe('BadRefund');
    });
    const reassigned = (account: { data: Buffer }) => account.data.fill(1, 32, 64);
    expect(world.svm.withForgedAccount(epoch.refund, reassigned, () => world.errorOf([world.closing(epoch)]))).toBe('BadRefund');
    const frozen = (account: { data: Buffer }) => account.data.writeUInt8(2, 108);
    expect(world.svm.withForgedAccount(epoch.refund, frozen, () => world.errorOf([world.closing(epoch)]))).toBe('RefundFrozen');
    expect(world.svm.withForgedAccount(epoch.vault, frozen, () => world.errorOf([world.closing(epoch)]))).toBe('VaultFrozen');
    expect(world.svm.withForgedAccount(epoch.vault, missing, () => world.errorOf([world.closing(epoch)]))).toBe('BadVault');
    expect(world.state(epoch).state).toBe('open');
    world.must([world.closing(epoch)]);
    expect(world.balance(epoch.refund)).toBe(1_000n);
  });

  test('close works after a closed refund account was created again', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(1));
    const owner = world.treasury.publicKey;
    const close = changedInstruction(world.tokenAccount(owner, epoch.mint), { program: TOKEN_PROGRAM, data: () => Buffer.from([9]) });
    close.keys = [epoch.refund, owner, owner].map((pubkey, i) => ({ pubkey, isWritable: true, isSigner: i === 2 }));
    world.must([close], world.treasury);
    world.svm.now += 90 * DAY;
    expect(world.errorOf([world.closing(epoch)])).toBe('BadRefund');
    world.must([world.tokenAccount(owner, epoch.mint), world.closing(epoch)]);
    expect(world.balance(epoch.refund)).toBe(1_000n);
  });
});

describe.each(FEATURES)('close_page, %s', (features) => {
  test('close_page gives the rent of the page to the authority and deletes the account', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch), world.closing(epoch)], world.authority);
    const page = world.page(epoch, 0);
    const [rent, before] = [world.svm.lamports(page), world.svm.lamports(epoch.authority)];
    world.must([world.closingPage(epoch, 0)]);
    expect(world.svm.get(page)).toBeNull();
    expect(world.svm.lamports(epoch.authority) - before).toBe(rent);
    expect(world.errorOf([world.closingPage(epoch, 0)])).toBe('NotAPage');
  });

  test('close_page fails before its epoch is closed', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    expect(world.errorOf([world.closingPage(epoch, 0)], world.authority)).toBe('NotClosed');
    world.must([world.settling(epoch)], world.authority);
    expect(world.errorOf([world.closingPage(epoch, 0)])).toBe('NotClosed');
    world.svm.now += 90 * DAY;
    expect(world.errorOf([world.closingPage(epoch, 0)])).toBe('NotClosed');
    expect(world.isClaimed(epoch, 0)).toBe(true);
  });

  test('close_page rejects a page of another epoch', () => {
    const world = new World(features);
    const mint = world.mint();
    const [open, closed] = [world.open(mint, wallets(3), 1n), world.open(mint, wallets(3), 2n)];
    for (const epoch of [open, closed]) world.claim(epoch, 0);
    world.must([world.settling(closed), world.closing(closed)], world.authority);
    const mixed = (pubkey: PublicKey) => world.errorOf([changedInstruction(world.closingPage(closed, 0), { keys: { 1: { pubkey } } })]);
    expect(mixed(world.page(open, 0))).toBe('NotAPage');
    expect(mixed(open.epochAccount)).toBe('NotAPage');
    expect(mixed(open.vault)).toBe('NotAPage');
    expect(mixed(key())).toBe('NotAPage');
    expect(mixed(closed.epochAccount)).toBe('BadAccounts');
    const redirected = changedInstruction(world.closingPage(closed, 0), { keys: { 2: { pubkey: key() } } });
    expect(world.errorOf([redirected])).toBe('WrongAuthority');
    world.must([world.closingPage(closed, 0)]);
  });

  test('close_page deletes a page once and fails for a page that was never created', () => {
    const world = new World(features);
    const plan = treeOfPath({ index: 8_200, depth: 14, leaves: 8_201, claim: { wallet: key(), amount: 5n } });
    const epoch = world.open(world.mint(), plan);
    world.claim(epoch, 8_200);
    world.must([world.settling(epoch), world.closing(epoch)], world.authority);
    expect(world.errorOf([world.closingPage(epoch, 0)])).toBe('NotAPage'); // has no claims, so it was never created
    expect(world.svm.get(pageAddress(world.program, epoch.epochAccount, 2))).not.toBeNull();
    expect(world.errorOf([world.closingPage(epoch, 2), world.closingPage(epoch, 2)])).toBe('NotAPage');
    world.must([world.closingPage(epoch, 2)]);
  });

  test('lamports sent after close_page create an empty account', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch), world.closing(epoch)], world.authority);
    const page = world.page(epoch, 0);
    const send = SystemProgram.transfer({ fromPubkey: world.payer.publicKey, toPubkey: page, lamports: 10_000_000 });
    world.must([world.closingPage(epoch, 0), send]);
    expect(world.svm.account(page)).toMatchObject({ owner: SystemProgram.programId, data: Buffer.alloc(0) });
    world.destination(epoch, 1);
    expect(world.errorOf([world.claiming(epoch, 1)])).toBe('NotOpen');
  });
});
