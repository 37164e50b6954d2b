import { describe, expect, test } from '@jest/globals';
import { Keypair, type PublicKey, SystemProgram } from '@solana/web3.js';
import { pageAddress } from '#platform/solana/distributor/index.ts';
import { associatedTokenAddress, mintTo, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { FEATURES } from './svm.ts';
import { planOfPath, wallets } from './tree.ts';
import { DAY, edited, key, World } from './world.ts';

describe.each(FEATURES)('settle, %s', (features) => {
  test('ends an epoch before its time and gives back what is left, once and for ever', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch)], world.authority);
    expect(world.state(epoch)).toMatchObject({ state: 'settled', claimed: 1_000n, total: 3_003n });
    expect(world.balance(epoch.refund)).toBe(2_003n);
    expect(world.balance(epoch.vault)).toBe(0n);
    expect(world.refusal([world.settling(epoch)], world.authority)).toBe('NotOpen');
  });

  test('is the authority’s alone', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    const stranger = Keypair.generate();
    const theirs = edited(world.settling(epoch), { keys: { 0: { pubkey: stranger.publicKey } } });
    expect(world.refusal([theirs], stranger)).toBe('WrongAuthority');
    expect(world.refusal([edited(theirs, { keys: { 0: { pubkey: world.payer.publicKey } } })])).toBe('WrongAuthority');
    expect(world.refusal([edited(world.settling(epoch), { keys: { 0: { isSigner: false } } })])).toBe('MissingSignature');
    expect(world.state(epoch).state).toBe('open');
  });

  test('gives back more than the total where the vault holds more, and works when nothing is left', () => {
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

  test('is possible when the epoch is over, and not when it is closed', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(1));
    world.svm.now += 90 * DAY;
    world.must([world.settling(epoch)], world.authority);
    world.must([world.closing(epoch)]);
    expect(world.refusal([world.settling(epoch)], world.authority)).toBe('NotOpen');
  });
});

describe.each(FEATURES)('close, %s', (features) => {
  test('gives tokens back to where was said, lamports to the authority, and leaves the epoch as a tombstone', () => {
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
    expect(world.refusal([world.closing(epoch)])).toBe('NotOpen');
  });

  test('waits for the expiry, to the second, or for settle', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    expect(world.refusal([world.closing(epoch)])).toBe('NotExpired');
    expect(world.refusal([world.closing(epoch)], world.authority)).toBe('NotExpired');
    world.svm.now = world.state(epoch).expiry - 1;
    expect(world.refusal([world.closing(epoch)])).toBe('NotExpired');
    world.svm.now += 1;
    world.must([world.closing(epoch)]);
    const settled = world.open(epoch.mint, wallets(3), 2n);
    world.must([world.settling(settled), world.closing(settled)], world.authority);
    expect(world.balance(epoch.refund)).toBe(2n * epoch.total);
  });

  test('gives back what the vault holds now: a surplus, and what came after settling', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(1));
    world.must([world.settling(epoch), mintTo(epoch.mint, epoch.vault, epoch.authority, 77n)], world.authority);
    world.must([world.closing(epoch)]);
    expect(world.balance(epoch.refund)).toBe(1_077n);
  });

  test('gives nothing to anybody but those who were named', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, wallets(3));
    const other = world.open(mint, wallets(3), 2n);
    const stranger = Keypair.generate().publicKey;
    world.must([world.tokenAccount(stranger, mint)]);
    world.svm.now += 90 * DAY;
    const using = (i: number, pubkey: PublicKey) => world.refusal([edited(world.closing(epoch), { keys: { [i]: { pubkey } } })]);
    expect(using(0, other.epochAccount)).toBe('WrongAddress'); // with this epoch's vault
    expect(using(1, other.vault)).toBe('WrongAddress');
    expect(using(2, associatedTokenAddress(stranger, mint))).toBe('WrongAddress');
    expect(using(2, other.vault)).toBe('WrongAddress');
    expect(using(3, stranger)).toBe('WrongAuthority');
    expect(using(3, world.payer.publicKey)).toBe('WrongAuthority');
    expect(using(4, SystemProgram.programId)).toBe('WrongProgram');
    expect(using(4, key())).toBe('WrongProgram');
    world.must([world.closing(epoch)]);
  });

  test('and settle ask nothing of the refund account where nothing is left, and otherwise that it can be paid', () => {
    const world = new World(features);
    const mint = world.mint();
    const epoch = world.open(mint, wallets(1), 1n);
    const spent = world.open(mint, wallets(1), 2n);
    world.claim(spent, 0);
    const gone = { owner: SystemProgram.programId, data: Buffer.alloc(0) };
    world.svm.forging(epoch.refund, gone, () => {
      expect(world.refusal([world.settling(epoch)], world.authority)).toBe('BadRefund');
      world.must([world.settling(spent), world.closing(spent)], world.authority);
      world.svm.now += 90 * DAY;
      expect(world.refusal([world.closing(epoch)])).toBe('BadRefund');
    });
    const given = (account: { data: Buffer }) => account.data.fill(1, 32, 64);
    expect(world.svm.forging(epoch.refund, given, () => world.refusal([world.closing(epoch)]))).toBe('BadRefund');
    const frozen = (account: { data: Buffer }) => account.data.writeUInt8(2, 108);
    expect(world.svm.forging(epoch.refund, frozen, () => world.refusal([world.closing(epoch)]))).toBe('RefundFrozen');
    expect(world.svm.forging(epoch.vault, frozen, () => world.refusal([world.closing(epoch)]))).toBe('VaultFrozen');
    expect(world.svm.forging(epoch.vault, gone, () => world.refusal([world.closing(epoch)]))).toBe('BadVault');
    expect(world.state(epoch).state).toBe('open');
    world.must([world.closing(epoch)]);
    expect(world.balance(epoch.refund)).toBe(1_000n);
  });

  test('works after the refund account was closed, once anybody has made it again', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(1));
    const owner = world.treasury.publicKey;
    const close = edited(world.tokenAccount(owner, epoch.mint), { program: TOKEN_PROGRAM, data: () => Buffer.from([9]) });
    close.keys = [epoch.refund, owner, owner].map((pubkey, i) => ({ pubkey, isWritable: true, isSigner: i === 2 }));
    world.must([close], world.treasury);
    world.svm.now += 90 * DAY;
    expect(world.refusal([world.closing(epoch)])).toBe('BadRefund');
    world.must([world.tokenAccount(owner, epoch.mint), world.closing(epoch)]);
    expect(world.balance(epoch.refund)).toBe(1_000n);
  });
});

describe.each(FEATURES)('close_page, %s', (features) => {
  test('gives the rent of a closed epoch’s page to the authority, and leaves nothing', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch), world.closing(epoch)], world.authority);
    const page = world.page(epoch, 0);
    const [rent, before] = [world.svm.lamports(page), world.svm.lamports(epoch.authority)];
    world.must([world.closingPage(epoch, 0)]);
    expect(world.svm.get(page)).toBeNull();
    expect(world.svm.lamports(epoch.authority) - before).toBe(rent);
    expect(world.refusal([world.closingPage(epoch, 0)])).toBe('NotAPage');
  });

  test('waits for its epoch to be closed', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    expect(world.refusal([world.closingPage(epoch, 0)], world.authority)).toBe('NotClosed');
    world.must([world.settling(epoch)], world.authority);
    expect(world.refusal([world.closingPage(epoch, 0)])).toBe('NotClosed');
    world.svm.now += 90 * DAY;
    expect(world.refusal([world.closingPage(epoch, 0)])).toBe('NotClosed');
    expect(world.isClaimed(epoch, 0)).toBe(true);
  });

  test('takes no page of an epoch that is open by way of one that is closed', () => {
    const world = new World(features);
    const mint = world.mint();
    const [open, closed] = [world.open(mint, wallets(3), 1n), world.open(mint, wallets(3), 2n)];
    for (const epoch of [open, closed]) world.claim(epoch, 0);
    world.must([world.settling(closed), world.closing(closed)], world.authority);
    const mixed = (pubkey: PublicKey) => world.refusal([edited(world.closingPage(closed, 0), { keys: { 1: { pubkey } } })]);
    expect(mixed(world.page(open, 0))).toBe('NotAPage');
    expect(mixed(open.epochAccount)).toBe('NotAPage');
    expect(mixed(open.vault)).toBe('NotAPage');
    expect(mixed(key())).toBe('NotAPage');
    expect(mixed(closed.epochAccount)).toBe('BadAccounts');
    const robbed = edited(world.closingPage(closed, 0), { keys: { 2: { pubkey: key() } } });
    expect(world.refusal([robbed])).toBe('WrongAuthority');
    world.must([world.closingPage(closed, 0)]);
  });

  test('takes every page there is, and each once', () => {
    const world = new World(features);
    const plan = planOfPath({ index: 8_200, depth: 14, leaves: 8_201, claim: { wallet: key(), amount: 5n } });
    const epoch = world.open(world.mint(), plan);
    world.claim(epoch, 8_200);
    world.must([world.settling(epoch), world.closing(epoch)], world.authority);
    expect(world.refusal([world.closingPage(epoch, 0)])).toBe('NotAPage'); // never needed, so never made
    expect(world.svm.get(pageAddress(world.program, epoch.epochAccount, 2))).not.toBeNull();
    expect(world.refusal([world.closingPage(epoch, 2), world.closingPage(epoch, 2)])).toBe('NotAPage');
    world.must([world.closingPage(epoch, 2)]);
  });

  test('leaves nothing to revive: lamports sent after it make an empty account', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch), world.closing(epoch)], world.authority);
    const page = world.page(epoch, 0);
    const revive = SystemProgram.transfer({ fromPubkey: world.payer.publicKey, toPubkey: page, lamports: 10_000_000 });
    world.must([world.closingPage(epoch, 0), revive]);
    expect(world.svm.account(page)).toMatchObject({ owner: SystemProgram.programId, data: Buffer.alloc(0) });
    world.destination(epoch, 1);
    expect(world.refusal([world.claiming(epoch, 1)])).toBe('NotOpen');
  });
});
