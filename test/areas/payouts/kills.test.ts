import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runPlanner } from '#areas/payouts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { pollPending, signAndSend } from '#platform/solana/submission/index.ts';
import {
  balancesOf,
  createAllPayments,
  type PayoutsTest,
  paymentRequest,
  planNow,
  startPayoutsTest,
  storedPayments,
} from '#test/support/areas/payouts.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { type KillableApp, Killed, killableApp } from '#test/support/solana/submission.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

/** Step between the operations at which the process is killed. 1 = at every operation. */
const EVERY = Number(process.env.CHAOS_EVERY ?? 5);

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest({ workers: false, env: { PAYOUT_LANES: '1' } });
});
afterAll(() => t.close());

const selectDue = statement<{ id: string }>(
  'test_due_payouts',
  `select id::text from chain_transactions where state = 'queued' and next_at <= app_now()`,
);
const selectTwice = statement<{ payment: string }>(
  'test_paid_twice',
  `select m.payment::text from payout_batch_members m join payout_batches b on b.id = m.batch where b.state = 'paid' group by 1 having count(*) > 1`,
);
const endLane = statement(
  'test_forget_lane',
  // The lane looks as in a database that was restored to a time before its nonce was read.
  `update payout_lanes set nonce = null, nonce_slot = 0, landed = null, landed_slot = 0, stale = true where lane = 0`,
);

const endClaims = statement('test_end_scan_claims', 'update payout_lane_scans set reading_until = app_now()');

/** Runs planner, signing and polling once, as the workers do. */
async function turn(app: App): Promise<void> {
  await runPlanner(app);
  for (const { id } of await app.db.query(selectDue)) await signAndSend(app, transactionTypes, id);
  await pollPending(app, transactionTypes);
}

/** Runs turns until all payments are completed. After the kill, uses an application that is not killed. @returns whether it was killed */
async function workOn(owed: readonly { id: string; created: boolean }[], process: KillableApp): Promise<boolean> {
  let killed = false;
  const end = performance.now() + PATIENCE * 15_000;
  while (performance.now() < end) {
    try {
      await turn(killed ? t.app : process.app);
    } catch (error) {
      // Operations that run concurrently with the killed one may fail with other errors.
      if (!(error instanceof Killed) && process.operations === 0) throw error;
      killed = true;
      // The claim of the killed process expires after 30 seconds. The test does not wait for that.
      await t.app.tx((tx) => tx.query(endClaims));
    }
    if ((await storedPayments(t, owed)).every(({ state }) => state === 'completed')) return killed;
    await planNow(t, owed);
    await sleep(40);
  }
  throw new Error(`payments are not completed: ${JSON.stringify(await storedPayments(t, owed))}`);
}

test.each(['before', 'after'] as const)(
  'when a payout process is killed %s any operation, each payment is made once',
  async (when) => {
    let at = 1;
    for (let killed = true; killed; at += EVERY) {
      const currency = at % 2 === 0 ? 'usdc' : 'reward';
      const all = [paymentRequest({ amount: 3n, currency }), paymentRequest({ amount: 5n, currency })];
      if (at % 3 === 0) await t.app.tx((tx) => tx.query(endLane));
      const owed = await createAllPayments(t, all);
      killed = await workOn(owed, killableApp(t.app, at, when));
      const wallets = all.map(({ wallet }) => wallet);
      expect(await balancesOf(t, wallets, currency)).toEqual([3n, 5n]);
    }
    // A payment takes more than 60 operations, so the loop has covered all steps.
    expect(at).toBeGreaterThan(60);
    expect(await t.app.db.query(selectTwice)).toEqual([]);
  },
  90_000,
);
