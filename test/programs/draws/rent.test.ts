import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Keypair, type PublicKey, SYSVAR_RENT_PUBKEY, SystemProgram } from '@solana/web3.js';
import { COMMITMENT_BYTES, DRAWS_BYTES } from '#platform/solana/draws/index.ts';
import { FEATURES } from '../svm.ts';
import { DrawsWorld } from './world.ts';

describe.each(FEATURES)('accounts at addresses that hold lamports already, %s', (features) => {
  test.each([
    ['less than the rent', (needed: number) => needed - 1],
    ['exactly the rent', (needed: number) => needed],
    ['three times the rent', (needed: number) => needed * 3],
    ['one lamport more than the rent', (needed: number) => needed + 1],
    ['the rent of an empty account', (_: number, least: number) => least],
  ])('an account is created at an address that received %s, and the payer adds the missing rent', (_, amount) => {
    const world = new DrawsWorld(features);
    const least = world.svm.rent(0);
    const paying = Keypair.generate();
    world.svm.fund(paying.publicKey, 1_000_000_000n);
    const send = (to: PublicKey, lamports: number) =>
      world.must([SystemProgram.transfer({ fromPubkey: world.payer.publicKey, toPubkey: to, lamports })]);
    const cost = (then: () => unknown) => {
      const before = world.svm.lamports(paying.publicKey);
      then();
      return Number(before - world.svm.lamports(paying.publicKey));
    };

    const sentToDraws = amount(world.svm.rent(DRAWS_BYTES), least);
    send(world.draws, sentToDraws);
    const init = () => world.must([world.founding({ payer: paying.publicKey })], paying);
    expect(cost(init)).toBe(Math.max(0, world.svm.rent(DRAWS_BYTES) - sentToDraws));
    expect(world.facts()).not.toBeNull();

    const roundId = randomUUID();
    const sentToCommitment = amount(world.svm.rent(COMMITMENT_BYTES), least);
    send(world.commitmentOf(roundId), sentToCommitment);
    const commit = () => world.must([world.committing({ roundId, payer: paying.publicKey })], paying);
    expect(cost(commit)).toBe(Math.max(0, world.svm.rent(COMMITMENT_BYTES) - sentToCommitment));
    expect(world.commitment(roundId)).not.toBeNull();
  });

  test('lamports that arrive in the same transaction do not stop a commitment', () => {
    const world = new DrawsWorld(features);
    world.found();
    const roundId = randomUUID();
    const gift = SystemProgram.transfer({ fromPubkey: world.payer.publicKey, toPubkey: world.commitmentOf(roundId), lamports: 1_000_000 });
    world.must([gift, world.committing({ roundId }), gift]);
    expect(world.commitment(roundId)).not.toBeNull();
  });

  test('an account is not created at an address that has data or another owner', () => {
    const world = new DrawsWorld(features);
    const roundId = randomUUID();
    const junk = { owner: SystemProgram.programId, lamports: 10_000_000n, data: Buffer.alloc(120), executable: false };
    const all = [junk, { ...junk, owner: SYSVAR_RENT_PUBKEY, data: Buffer.alloc(0) }, { ...junk, owner: world.program, data: Buffer.alloc(0) }];
    for (const taken of all) {
      world.svm.set(world.draws, taken);
      expect(world.errorOf([world.founding()])).toBe('AlreadyFounded');
    }
    world.svm.set(world.draws, { ...junk, data: Buffer.alloc(0) });
    world.found();
    for (const taken of all) {
      world.svm.set(world.commitmentOf(roundId), taken);
      expect(world.errorOf([world.committing({ roundId })])).toBe('AlreadyCommitted');
    }
    world.svm.set(world.commitmentOf(roundId), { ...junk, data: Buffer.alloc(0) });
    world.must([world.committing({ roundId })]);
  });
});

describe.each(FEATURES)('rent, %s', (features) => {
  test.each([
    [3_480n, 2],
    [6_960n, 1],
    [5_080n, 1],
    [696n, 1],
    [348n, 2],
    [1n, 1],
  ])('an account gets the rent of the cluster: %i lamports per byte, threshold %i', (price, threshold) => {
    const world = new DrawsWorld(features);
    world.svm.setRent(price, threshold);
    world.found();
    const roundId = world.commit();
    expect(world.svm.lamports(world.draws)).toBe((128n + 160n) * price * BigInt(threshold));
    expect(world.svm.lamports(world.commitmentOf(roundId))).toBe((128n + 120n) * price * BigInt(threshold));
  });

  test('unsupported rent parameters are rejected', () => {
    const world = new DrawsWorld(features);
    const unsupported = [
      [3_480n, 1.5],
      [3_480n, 0.5],
      [3_480n, 3],
      [2n ** 32n, 1],
      [0n, 1],
      [0n, 2],
    ] as const;
    const refused = (then: () => void) => {
      for (const [price, threshold] of unsupported) {
        world.svm.setRent(price, threshold);
        then();
      }
      world.svm.setRent(6_960n, 1);
    };
    refused(() => expect(world.errorOf([world.founding()])).toBe('BadRent'));
    world.found();
    refused(() => expect(world.errorOf([world.committing()])).toBe('BadRent'));
    world.commit();
  });

  test('a commitment whose payer cannot pay the rent fails and changes nothing', () => {
    const world = new DrawsWorld(features);
    world.found();
    const poor = Keypair.generate();
    world.svm.fund(poor.publicKey, BigInt(world.svm.rent(0)) + 1_000n);
    const roundId = randomUUID();
    expect(world.errorOf([world.committing({ roundId, payer: poor.publicKey })], poor)).toBe('Custom 1');
    expect(world.svm.get(world.commitmentOf(roundId))).toBeNull();
  });
});
