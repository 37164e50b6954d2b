import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runPlanner } from '#areas/payouts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  balanceOf,
  debt,
  lookAgain,
  mintOf,
  openAccounts,
  oweAll,
  type PayoutsTest,
  startPayoutsTest,
  storedPayments,
  untilPaid,
} from '#test/support/areas/payouts.ts';
import { meanwhile } from '#test/support/meanwhile.ts';

let t: PayoutsTest;
let worker: Awaited<ReturnType<typeof startWorker>>;
beforeAll(async () => {
  t = await startPayoutsTest({ workers: false, env: { PAYOUT_LANES: '1' } });
  worker = await startWorker(t.env, t.clock);
  // The lane is open.
  await untilPaid(t, await oweAll(t, [debt()]));
  await worker.close();
});
afterAll(async () => {
  await worker?.close();
  await t?.close();
});

test('a batch that meets a claim opening the same token account is not made: what is owed beside it is paid, and its member later', async () => {
  const [met] = await oweAll(t, [debt({ currency: 'reward' })]);
  const [other] = await oweAll(t, [debt()]);
  if (!met || !other) throw new Error('nothing is owed');
  const [{ wallet } = { wallet: '' }] = await storedPayments(t, [met]);
  const claimed = () =>
    sql(t.app, 'insert into token_accounts_opened (wallet, mint, cause) values ($1, $2, $3)', [wallet, mintOf(t, 'reward').toBase58(), randomUUID()]);
  // The planner has seen that nobody opens the account, and the claim is signed before it writes the batch down.
  await runPlanner(meanwhile(t.app, 'select_accounts_opened_by_payouts', claimed));
  expect((await storedPayments(t, [met, other])).map(({ state }) => state)).toEqual(['pending', 'batched']);

  await openAccounts(t, [wallet], 'reward');
  worker = await startWorker(t.env, t.clock);
  await lookAgain(t, [met]);
  await untilPaid(t, [met, other], 'completed', 60_000);
  expect(await balanceOf(t, wallet, 'reward')).toBe(1_000_000n);
});
