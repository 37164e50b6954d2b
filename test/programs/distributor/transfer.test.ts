import { describe, expect, test } from '@jest/globals';
import { TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { fixture, key } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { wallets } from './tree.ts';
import { World } from './world.ts';

describe.each(FEATURES)('a transfer, %s', (features) => {
  test.each([
    [0, 'no balance changes'],
    [1, 'only the source changes'],
    [2, 'only the destination changes'],
    [3, 'the destination gets too little'],
    [4, 'the source loses too much'],
    [5, 'the destination gets too much'],
    [6, 'the destination loses the length of a token account'],
    [7, 'the vault loses the length of a token account'],
    [8, 'the transfer is reversed'],
  ])('a claim of an amount that ends with %i fails when %s', (digit) => {
    const world = new World(features);
    const epoch = world.open(world.mint(), [
      { wallet: key(), amount: 1_000n + BigInt(digit) },
      { wallet: key(), amount: 1_009n },
    ]);
    for (const index of [0, 1]) world.destination(epoch, index);
    world.svm.addProgram(TOKEN_PROGRAM, fixture('liar'));
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('BadTransfer');
    expect(world.isClaimed(epoch, 0)).toBe(false);
    expect(world.balance(epoch.vault)).toBe(epoch.total);
    world.must([world.claiming(epoch, 1)]); // the false token program transfers this amount correctly
    expect(world.paid(epoch, 1)).toBe(1_009n);
  });

  test('settle and close verify the balances and the closing of the vault', () => {
    const world = new World(features);
    const mint = world.mint();
    const [short, exact] = [1_003n, 1_009n].map((amount, i) => world.open(mint, [{ wallet: key(), amount }], BigInt(i)));
    if (!short || !exact) throw new Error('an epoch is missing');
    world.svm.addProgram(TOKEN_PROGRAM, fixture('liar'));
    expect(world.errorOf([world.settling(short)], world.authority)).toBe('BadTransfer');
    expect(world.state(short).state).toBe('open');
    world.must([world.settling(exact)], world.authority);
    expect(world.balance(exact.refund)).toBe(1_009n);
    expect(world.errorOf([world.closing(exact)])).toBe('BadTransfer'); // the false token program reports success without closing the vault
    expect(world.state(exact).state).toBe('settled');
  });

  test('a claim in an epoch that was not opened fails', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(2));
    world.destination(epoch, 0);
    expect(world.errorOf([world.claiming(epoch, 0)])).toBe('NotAnEpoch');
  });
});
