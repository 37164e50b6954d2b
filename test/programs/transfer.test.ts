import { describe, expect, test } from '@jest/globals';
import { TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { FEATURES } from './svm.ts';
import { wallets } from './tree.ts';
import { fixture, key, World } from './world.ts';

describe.each(FEATURES)('a transfer, %s', (features) => {
  test.each([
    [0, 'nothing moves'],
    [1, 'nothing arrives'],
    [2, 'nothing leaves'],
    [3, 'less arrives'],
    [4, 'more leaves'],
    [5, 'more arrives'],
    [6, 'the destination is no token account any more'],
    [7, 'the vault is no token account any more'],
    [8, 'it goes the other way round'],
  ])('of ...%i is undone where %s', (digit) => {
    const world = new World(features);
    const epoch = world.open(world.mint(), [
      { wallet: key(), amount: 1_000n + BigInt(digit) },
      { wallet: key(), amount: 1_009n },
    ]);
    for (const index of [0, 1]) world.destination(epoch, index);
    world.svm.addProgram(TOKEN_PROGRAM, fixture('liar'));
    expect(world.refusal([world.claiming(epoch, 0)])).toBe('BadTransfer');
    expect(world.isClaimed(epoch, 0)).toBe(false);
    expect(world.balance(epoch.vault)).toBe(epoch.total);
    world.must([world.claiming(epoch, 1)]); // the same program, when it does as it should
    expect(world.paid(epoch, 1)).toBe(1_009n);
  });

  test('of what is left is looked at just so, and so is the vault’s end', () => {
    const world = new World(features);
    const mint = world.mint();
    const [short, exact] = [1_003n, 1_009n].map((amount, i) => world.open(mint, [{ wallet: key(), amount }], BigInt(i)));
    if (!short || !exact) throw new Error('no epochs');
    world.svm.addProgram(TOKEN_PROGRAM, fixture('liar'));
    expect(world.refusal([world.settling(short)], world.authority)).toBe('BadTransfer');
    expect(world.state(short).state).toBe('open');
    world.must([world.settling(exact)], world.authority);
    expect(world.balance(exact.refund)).toBe(1_009n);
    expect(world.refusal([world.closing(exact)])).toBe('BadTransfer'); // it says that it closed the vault, and did not
    expect(world.state(exact).state).toBe('settled');
  });

  test('needs tokens: nothing is paid by an epoch of no accounts', () => {
    const world = new World(features);
    const epoch = world.plan(world.mint(), wallets(2));
    world.destination(epoch, 0);
    expect(world.refusal([world.claiming(epoch, 0)])).toBe('NotAnEpoch');
  });
});
