import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { CreatedPayment } from '#areas/payouts';
import { reconcilePayouts } from '#jobs/payouts.ts';
import { resume } from '#platform/solana/submission/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  balancesOf,
  createAllPayments,
  type PayoutsTest,
  paymentRequest,
  startPayoutsTest,
  storedPayments,
  untilPaid,
} from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { PAYOUT_LANES: '2' } });
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const requests = (n: number) => Array.from({ length: n }, (_, i) => paymentRequest({ amount: BigInt(100 + i) }));
const statesOf = async (owed: readonly CreatedPayment[]) => [...new Set((await storedPayments(t, owed)).map(({ state }) => state))];
const contradictions = async () =>
  (await sql<{ scope: string }>(t.app, `select scope from chain_pauses where scope like 'contradiction:%' order by 1`)).map(({ scope }) => scope);
/** Resumes what the contradiction paused, as an operator does after the wrong provider was replaced, and waits until all is paid. */
async function resumeAndPay(owed: readonly CreatedPayment[]): Promise<void> {
  for (const scope of await contradictions()) await t.app.tx((tx) => resume(tx, scope));
  await retryUntilPass(async () => {
    await t.app.tx(async (tx) => tx.enqueue(reconcilePayouts, {}));
    await untilPaid(t, owed, 'completed', 0);
  }, 30_000);
}

test.each(['second', 'first'] as const)(
  'payouts that do not land in the ledger of the %s provider pause, and are made once after the providers agree again',
  async (node) => {
    await untilPaid(t, await createAllPayments(t, requests(4)));
    await t.chain.control.split('apart');
    await t.chain.control.fault({ kind: 'drop', node });
    const all = requests(5);
    const owed = await createAllPayments(t, all);
    await retryUntilPass(async () => {
      await t.chain.control.advance(10);
      expect(await contradictions()).toContain('contradiction:payout-batch');
    }, 30_000);
    expect(await statesOf(owed)).not.toContain('completed');
    await t.chain.control.clear();
    await resumeAndPay(owed);
    expect(
      await balancesOf(
        t,
        all.map(({ wallet }) => wallet),
      ),
    ).toEqual(all.map(({ amount }) => amount));
    expect(await contradictions()).toEqual([]);
  },
  90_000,
);

test('payouts wait without a pause while the second provider has stopped following the cluster', async () => {
  await t.chain.control.split('stopped');
  const all = requests(5);
  const owed = await createAllPayments(t, all);
  await retryUntilPass(
    async () =>
      expect(
        await balancesOf(
          t,
          all.map(({ wallet }) => wallet),
        ),
      ).toEqual(all.map(({ amount }) => amount)),
    20_000,
  );
  await t.chain.control.advance(100);
  expect([await contradictions(), (await statesOf(owed)).includes('completed')]).toEqual([[], false]);
  await t.chain.control.rejoin();
  await resumeAndPay(owed);
  expect(
    await balancesOf(
      t,
      all.map(({ wallet }) => wallet),
    ),
  ).toEqual(all.map(({ amount }) => amount));
}, 90_000);
