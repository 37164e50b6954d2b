import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runPlanner, runReconciliation } from '#areas/payouts';
import { selectFailover } from '#areas/payouts/reconciliation/rows.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';
import {
  balanceOf,
  createAllPayments,
  mintOf,
  openAccounts,
  type PayoutsTest,
  paymentRequest,
  planNow,
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
  // Opens the lane.
  await untilPaid(t, await createAllPayments(t, [paymentRequest()]));
  await worker.close();
});
afterAll(async () => {
  await worker?.close();
  await t?.close();
});

test('a batch is not stored when the database failed over after the lanes were reconciled', async () => {
  const [owed] = await createAllPayments(t, [paymentRequest()]);
  if (!owed) throw new Error('no payment was created');
  const failOver = () => sql(t.app, 'update payout_watch set timeline = timeline - 1');
  await runPlanner(meanwhile(t.app, 'select_accounts_opened_by_payouts', failOver));
  expect((await storedPayments(t, [owed])).map(({ state }) => state)).toEqual(['pending']);
  await runReconciliation(t.app);
  expect(await t.app.db.query(selectFailover)).toEqual([]);
});

test('when the nonce of a lane has changed on the chain, its payments wait, and the lane is read again', async () => {
  const [owed] = await createAllPayments(t, [paymentRequest()]);
  if (!owed) throw new Error('no payment was created');
  const [lane] = await sql<{ nonce: string }>(t.app, 'select nonce from payout_lanes');
  const change = () => sql(t.app, 'update payout_lanes set nonce = $1', [randomAddress()]);
  await runPlanner(meanwhile(t.app, 'select_payout_lanes_in_demand', change));
  expect((await storedPayments(t, [owed])).map(({ state }) => state)).toEqual(['pending']);
  expect(await sql(t.app, 'select stale, batch from payout_lanes')).toEqual([{ stale: true, batch: null }]);
  await sql(t.app, 'update payout_lanes set nonce = $1', [lane?.nonce]);
});

test('when a claim opens the same token account at the same time, the batch is not stored, other payments are batched, and its member is paid later', async () => {
  // Without other due payments, the planner first plans the member whose account the claim opens.
  await sql(t.app, `update payments set next_at = app_now() + interval '1 hour' where state = 'pending'`);
  const [met] = await createAllPayments(t, [paymentRequest({ currency: 'reward' })]);
  const [other] = await createAllPayments(t, [paymentRequest()]);
  if (!met || !other) throw new Error('no payment was created');
  const [{ wallet } = { wallet: '' }] = await storedPayments(t, [met]);
  const claimed = () =>
    sql(t.app, 'insert into token_accounts_opened (wallet, mint, cause) values ($1, $2, $3)', [wallet, mintOf(t, 'reward').toBase58(), randomUUID()]);
  // The claim records its opening after the planner has read the openings and before it stores the batch.
  await runPlanner(meanwhile(t.app, 'select_accounts_opened_by_payouts', claimed));
  expect((await storedPayments(t, [met, other])).map(({ state }) => state)).toEqual(['pending', 'batched']);

  await openAccounts(t, [wallet], 'reward');
  worker = await startWorker(t.env, t.clock);
  await planNow(t, [met]);
  await untilPaid(t, [met, other], 'completed', 60_000);
  expect(await balanceOf(t, wallet, 'reward')).toBe(1_000_000n);
});
