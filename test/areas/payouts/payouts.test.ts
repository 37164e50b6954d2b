import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { balanceOf, balancesOf, debt, eventsOf, oweAll, type PayoutsTest, startPayoutsTest, untilPaid } from '#test/support/areas/payouts.ts';

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest();
});
afterAll(() => t.close());

test('what is owed is paid once, and its wallet is told', async () => {
  const one = debt({ amount: 2_500_000n });
  const [owed] = await oweAll(t, [one]);
  if (!owed) throw new Error('nothing is owed');
  const [payment] = await untilPaid(t, [owed]);
  expect(payment).toMatchObject({ state: 'completed', signature: expect.stringMatching(/^\w{80,90}$/), reason: null });
  expect(await balanceOf(t, one.wallet)).toBe(2_500_000n);
  expect(await eventsOf(t, owed)).toEqual([
    {
      type: 'payout_confirmed',
      wallet: one.wallet,
      payload: { paymentId: owed.id, wallet: one.wallet, currency: 'usdc', amount: '2500000', signature: payment?.signature },
    },
  ]);
});

test('many are paid together, in both currencies, in as many batches as it takes', async () => {
  const all = Array.from({ length: 60 }, (_, i) => debt({ amount: BigInt(1_000 + i), currency: i % 3 === 0 ? 'reward' : 'usdc' }));
  const rows = await untilPaid(t, await oweAll(t, all));
  for (const currency of ['usdc', 'reward'] as const) {
    const mine = all.filter((one) => one.currency === currency);
    expect(
      await balancesOf(
        t,
        mine.map(({ wallet }) => wallet),
        currency,
      ),
    ).toEqual(mine.map(({ amount }) => amount));
  }
  const transactions = new Set(rows.map(({ signature }) => signature));
  expect(transactions.size).toBeLessThan(30);
});
