import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { balanceGauges, readBalances, storeBalances } from '#areas/lottery/treasury-gauges.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';

const DAY_MS = 86_400_000;

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t?.close());

const spend = (daysAgo: number, lamports: number) =>
  sql(t.app, `insert into chain_outflows (day, asset, priority, reserved) values (app_day() - $1::int, 'sol', 'claims', $2)`, [daysAgo, lamports]);
const daysLeft = async () => (await readBalances(t.app)).balances.map((balance) => balance.daysLeft);
const shown = async () => {
  const samples = (await balanceGauges.read(t.app)).filter(({ name }) => name === 'coinop_chain_balance_days_left');
  return samples.map(({ labels, value }) => ({ ...labels, value }));
};

test('the days that a balance lasts follow from the mean spending since the first spending of the last seven days, and are unknown without any', async () => {
  expect((await sql(t.app, `select 1 from chain_outflows`)).length).toBe(0);
  const midnight = Math.floor(t.app.clock.now().getTime() / DAY_MS) * DAY_MS;
  await t.clock.set(new Date(midnight + DAY_MS / 2));
  expect(await daysLeft()).toEqual([null, null, null]);
  await storeBalances(t.app);
  expect(await shown()).toEqual([]);

  const [payer] = (await readBalances(t.app)).balances;
  const held = payer?.held ?? 0;
  await spend(8, 10 ** 12);
  expect(await daysLeft()).toEqual([null, null, null]);
  // Spending of less than one day counts as that of a whole day.
  await spend(0, held / 10);
  expect((await daysLeft())[0]).toBeCloseTo(10, 3);
  await spend(7, held / 2);
  const perDay = (held / 10 + held / 2) / 7.5;
  expect((await daysLeft())[0]).toBeCloseTo(held / perDay, 1);
  await storeBalances(t.app);
  expect(await shown()).toEqual([{ role: 'fee_payer', asset: 'sol', value: expect.closeTo(held / perDay, 1) }]);
});
