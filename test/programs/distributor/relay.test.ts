import { describe, expect, test } from '@jest/globals';
import { Keypair, NONCE_ACCOUNT_LENGTH, SystemProgram } from '@solana/web3.js';
import { changedInstruction, relaying } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { wallets } from './tree.ts';
import { type SvmEpoch, World } from './world.ts';

const total = (world: World, epoch: SvmEpoch) => [0, 1, 2].reduce((sum, i) => sum + world.paid(epoch, i), world.balance(epoch.vault));

describe.each(FEATURES)('calls through another program, %s', (features) => {
  test('another program may submit a claim', () => {
    const world = new World(features);
    const through = relaying(world.svm);
    const epoch = world.open(world.mint(), wallets(3));
    for (const index of [0, 1]) world.destination(epoch, index);
    world.must([through(world.claiming(epoch, 0))]);
    expect(world.paid(epoch, 0)).toBe(1_000n);
    world.must([through(world.claiming(epoch, 1))]);
    expect(total(world, epoch)).toBe(epoch.total);
  });

  test('another program cannot claim twice in one instruction', () => {
    const world = new World(features);
    const through = relaying(world.svm);
    const epoch = world.open(world.mint(), wallets(3));
    world.destination(epoch, 0);
    expect(world.errorOf([through(world.claiming(epoch, 0), { times: 2 })])).toBe('AlreadyClaimed');
    expect(world.isClaimed(epoch, 0)).toBe(false);
    expect(total(world, epoch)).toBe(epoch.total);
  });

  test('another program cannot settle or open without the signature of the authority', () => {
    const world = new World(features);
    const through = relaying(world.svm);
    const epoch = world.open(world.mint(), wallets(3));
    expect(world.errorOf([through(world.settling(epoch), { unsigned: 1 })], world.authority)).toBe('MissingSignature');
    const unsigned = changedInstruction(world.settling(epoch), { keys: { 0: { isSigner: false } } });
    expect(world.errorOf([through(unsigned)])).toBe('MissingSignature');
    const next = world.plan(epoch.mint, wallets(3), 2n);
    world.must(world.funding(next), world.authority);
    expect(world.errorOf([through(world.opening(next), { unsigned: 2 })], world.authority)).toBe('MissingSignature');
    expect(world.state(epoch).state).toBe('open');
    world.must([through(world.settling(epoch))], world.authority);
  });

  test('a call without write access to an account fails', () => {
    const world = new World(features);
    const through = relaying(world.svm);
    const epoch = world.open(world.mint(), wallets(3));
    world.destination(epoch, 0);
    for (const i of [0, 1, 2, 3, 5]) {
      expect(world.errorOf([through(world.claiming(epoch, 0), { readonly: 1 << i })])).toBe('NotWritable');
    }
    expect(total(world, epoch)).toBe(epoch.total);
  });

  test('another program cannot close an epoch or a page twice in one instruction', () => {
    const world = new World(features);
    const through = relaying(world.svm);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch)], world.authority);
    expect(world.errorOf([through(world.closing(epoch), { times: 2 })])).toBe('NotOpen');
    world.must([through(world.closing(epoch))]);
    expect(world.errorOf([through(world.closingPage(epoch, 0), { times: 2 })])).toBe('NotAPage');
    world.must([through(world.closingPage(epoch, 0))]);
    expect(world.svm.get(world.page(epoch, 0))).toBeNull();
  });
});

describe.each(FEATURES)('accounts assigned to the program by a stranger, %s', (features) => {
  test('an account that a stranger assigned to the program is neither an epoch nor a page', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.destination(epoch, 1);
    for (const space of [0, 48, 49, 240, NONCE_ACCOUNT_LENGTH]) {
      const made = Keypair.generate();
      const lamports = world.svm.rent(space);
      const create = { fromPubkey: world.payer.publicKey, newAccountPubkey: made.publicKey, space, lamports, programId: world.program };
      world.must([SystemProgram.createAccount(create)], made);
      expect(world.errorOf([changedInstruction(world.claiming(epoch, 1), { keys: { 1: { pubkey: made.publicKey } } })])).toBe('NotAnEpoch');
      expect(world.errorOf([changedInstruction(world.claiming(epoch, 1), { keys: { 2: { pubkey: made.publicKey } } })])).toBe('NotAPage');
      const settling = changedInstruction(world.settling(epoch), { keys: { 1: { pubkey: made.publicKey } } });
      expect(world.errorOf([settling], world.authority)).toBe('NotAnEpoch');
    }
  });
});
