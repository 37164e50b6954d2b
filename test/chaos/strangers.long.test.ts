import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from '#test/support/areas/boards.ts';
import { FAST_PAYOUTS } from '#test/support/areas/payouts.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { compareWithStrangers } from '#test/support/solana/strangers.ts';

let chain: TestChain;
let t: RewardsTest;
beforeAll(async () => {
  chain = await startTestChain({ slotMs: 20 });
  t = await startRewardsTest({ chain, env: { ...FAST_PAYOUTS, PAYOUT_LANES: '8' } });
}, 120_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
}, 60_000);

test('50,000 transactions of strangers on every lane, the fee payer, the treasury and the vaults do not delay 500 payments and 200 claims', async () => {
  const { quiet, busy } = await compareWithStrangers(t, { strangers: 50_000, payments: 500, claims: 200, withinMs: 240_000 });
  process.stdout.write(`quiet ${JSON.stringify(quiet)}\nbusy  ${JSON.stringify(busy)}\n`);
  expect(busy.payment).toBeLessThan(2 * quiet.payment);
  expect(busy.claim).toBeLessThan(2 * quiet.claim);
  expect(busy.histories).toBeLessThan(1);
  expect(busy.reads).toBeLessThan(2);
  // The cluster of this process stores the transactions of the strangers, so the heap grows by about 2 kB for each of them.
  expect(busy.heapMb - quiet.heapMb).toBeLessThan(300);
  expect(await sql(t.app, 'select signature from payout_findings')).toEqual([]);
}, 900_000);
