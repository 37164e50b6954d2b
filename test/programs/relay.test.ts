import { describe, expect, test } from '@jest/globals';
import { Keypair, NONCE_ACCOUNT_LENGTH, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { FEATURES } from './svm.ts';
import { wallets } from './tree.ts';
import { account, type Epoch, edited, fixture, key, World } from './world.ts';

/** A program that calls the distributor on somebody's behalf: `times` times, keeping back signatures or write access by bit mask. */
function relaying(world: World) {
  const relay = key();
  world.svm.addProgram(relay, fixture('relay'));
  return (instruction: TransactionInstruction, { times = 1, unsigned = 0, readonly = 0 } = {}) =>
    new TransactionInstruction({
      programId: relay,
      keys: [account(instruction.programId), ...instruction.keys],
      data: Buffer.concat([Buffer.from([times, unsigned, readonly]), instruction.data]),
    });
}

const total = (world: World, epoch: Epoch) => [0, 1, 2].reduce((sum, i) => sum + world.paid(epoch, i), world.balance(epoch.vault));

describe.each(FEATURES)('a program in between, %s', (features) => {
  test('may claim for somebody, like anybody', () => {
    const world = new World(features);
    const through = relaying(world);
    const epoch = world.open(world.mint(), wallets(3));
    for (const index of [0, 1]) world.destination(epoch, index);
    world.must([through(world.claiming(epoch, 0))]);
    expect(world.paid(epoch, 0)).toBe(1_000n);
    world.must([through(world.claiming(epoch, 1))]);
    expect(total(world, epoch)).toBe(epoch.total);
  });

  test('cannot claim twice in one instruction', () => {
    const world = new World(features);
    const through = relaying(world);
    const epoch = world.open(world.mint(), wallets(3));
    world.destination(epoch, 0);
    expect(world.refusal([through(world.claiming(epoch, 0), { times: 2 })])).toBe('AlreadyClaimed');
    expect(world.isClaimed(epoch, 0)).toBe(false);
    expect(total(world, epoch)).toBe(epoch.total);
  });

  test('cannot settle or open for an authority that did not sign', () => {
    const world = new World(features);
    const through = relaying(world);
    const epoch = world.open(world.mint(), wallets(3));
    expect(world.refusal([through(world.settling(epoch), { unsigned: 1 })], world.authority)).toBe('MissingSignature');
    const unsigned = edited(world.settling(epoch), { keys: { 0: { isSigner: false } } });
    expect(world.refusal([through(unsigned)])).toBe('MissingSignature');
    const next = world.plan(epoch.mint, wallets(3), 2n);
    world.must(world.funding(next), world.authority);
    expect(world.refusal([through(world.opening(next), { unsigned: 2 })], world.authority)).toBe('MissingSignature');
    expect(world.state(epoch).state).toBe('open');
    world.must([through(world.settling(epoch))], world.authority);
  });

  test('cannot keep back write access', () => {
    const world = new World(features);
    const through = relaying(world);
    const epoch = world.open(world.mint(), wallets(3));
    world.destination(epoch, 0);
    for (const i of [0, 1, 2, 3, 5]) {
      expect(world.refusal([through(world.claiming(epoch, 0), { readonly: 1 << i })])).toBe('NotWritable');
    }
    expect(total(world, epoch)).toBe(epoch.total);
  });

  test('cannot close an epoch or a page twice for twice the lamports', () => {
    const world = new World(features);
    const through = relaying(world);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch)], world.authority);
    expect(world.refusal([through(world.closing(epoch), { times: 2 })])).toBe('NotOpen');
    world.must([through(world.closing(epoch))]);
    expect(world.refusal([through(world.closingPage(epoch, 0), { times: 2 })])).toBe('NotAPage');
    world.must([through(world.closingPage(epoch, 0))]);
    expect(world.svm.get(world.page(epoch, 0))).toBeNull();
  });
});

describe.each(FEATURES)('an account that somebody gave to the program, %s', (features) => {
  test('is neither an epoch nor a page', () => {
    const world = new World(features);
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.destination(epoch, 1);
    for (const space of [0, 48, 49, 240, NONCE_ACCOUNT_LENGTH]) {
      const made = Keypair.generate();
      const lamports = world.svm.rent(space);
      const create = { fromPubkey: world.payer.publicKey, newAccountPubkey: made.publicKey, space, lamports, programId: world.program };
      world.must([SystemProgram.createAccount(create)], made);
      expect(world.refusal([edited(world.claiming(epoch, 1), { keys: { 1: { pubkey: made.publicKey } } })])).toBe('NotAnEpoch');
      expect(world.refusal([edited(world.claiming(epoch, 1), { keys: { 2: { pubkey: made.publicKey } } })])).toBe('NotAPage');
      const settling = edited(world.settling(epoch), { keys: { 1: { pubkey: made.publicKey } } });
      expect(world.refusal([settling], world.authority)).toBe('NotAnEpoch');
    }
  });
});
