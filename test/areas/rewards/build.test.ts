import { expect, test } from '@jest/globals';
import { EpochBuilder } from '#areas/rewards/build/builder.ts';
import { buildFromPages } from '#areas/rewards/build/open.ts';
import type { WalletPage } from '#areas/rewards/epochs/snapshot.ts';
import { distributionCurve } from '#areas/rewards/projection/curve.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';

async function* pagesOf(...pages: WalletPage[]): AsyncGenerator<WalletPage> {
  yield* pages;
}

test('a tree with a wallet whose address does not have 32 bytes is not built', () => {
  const builder = new EpochBuilder();
  builder.add(`${randomWallet()},abc`, '5,6');
  builder.useValuesAsAmounts();
  expect(() => builder.tree(1)).toThrow('wallet must be a base58 address of 32 bytes, not abc');
});

test('when one page cannot be added, the epoch is not built from the other pages', async () => {
  const [good, bad] = [
    { wallets: randomWallet(), values: '5' },
    { wallets: randomWallet(), values: 'five' },
  ] as const;
  await expect(buildFromPages(pagesOf(good, bad, good), async (builder) => await builder.useValuesAsAmounts())).rejects.toThrow('five');
});

test('the thread of a large epoch ends with its computation', async () => {
  const built = await buildFromPages(pagesOf({ wallets: 'x'.repeat(400_001), values: '5' }), async (builder) => ({
    builder,
    sums: await builder.useValuesAsAmounts(),
  }));
  expect(built.sums).toEqual({ wallets: 1, leaves: 1, total: 5n });
  await expect(built.builder.useValuesAsAmounts()).rejects.toThrow('the worker thread has exited');
});

test('of an empty pool, each part of the wallets gets 0 percent', () => {
  const curve = distributionCurve(new BigUint64Array([0n, 0n]), 0n);
  expect(curve.map(({ amount, share }) => [amount, share])).toEqual(curve.map(() => ['0', 0]));
  expect(curve.at(-1)).toMatchObject({ top: 100, wallets: 2 });
});
