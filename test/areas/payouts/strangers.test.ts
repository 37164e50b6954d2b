import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from '#test/support/areas/boards.ts';
import { FAST_PAYOUTS } from '#test/support/areas/payouts.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { compareWithStrangers } from '#test/support/solana/strangers.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ env: FAST_PAYOUTS });
});
afterAll(() => t.close());

test('transactions of strangers that name every account of the service delay neither payments nor claims', async () => {
  const { quiet, busy } = await compareWithStrangers(t, { strangers: 2_000, payments: 20, claims: 10, withinMs: 20_000 });
  expect(busy.payment).toBeLessThan(2 * quiet.payment + 500);
  expect(busy.claim).toBeLessThan(2 * quiet.claim + 500);
  expect(busy.histories).toBeLessThan(1);
  expect(busy.reads).toBeLessThan(2);
  expect(await sql(t.app, 'select signature from payout_findings')).toEqual([]);
  expect(await sql(t.app, 'select lane from payout_lanes where reason is not null')).toEqual([]);
});
