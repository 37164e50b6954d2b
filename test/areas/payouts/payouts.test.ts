import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  balanceOf,
  balancesOf,
  createAllPayments,
  eventsOf,
  type PayoutsTest,
  paymentRequest,
  startPayoutsTest,
  untilPaid,
} from '#test/support/areas/payouts.ts';

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest();
});
afterAll(() => t.close());

test('a payment is made once, and its wallet receives the event payout_confirmed', async () => {
  const one = paymentRequest({ amount: 2_500_000n });
  const [owed] = await createAllPayments(t, [one]);
  if (!owed) throw new Error('no payment was created');
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

test('sixty payments in both currencies are completed by fewer than thirty transactions', async () => {
  const all = Array.from({ length: 60 }, (_, i) => paymentRequest({ amount: BigInt(1_000 + i), currency: i % 3 === 0 ? 'reward' : 'usdc' }));
  const rows = await untilPaid(t, await createAllPayments(t, all));
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
