import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runPlanner } from '#areas/payouts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { pollPending, signAndSend } from '#platform/solana/submission/transactions.ts';
import { balancesOf, debt, lookAgain, oweAll, type PayoutsTest, startPayoutsTest, storedPayments } from '#test/support/areas/payouts.ts';
import { Killed, type Mortal, mortal } from '#test/support/solana/submission.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

/** Only every so many operations are the last ones; with 1, all of them. */
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
  // As a database restored to before the lane was opened would have it.
  `update payout_lanes set nonce = null, nonce_slot = 0, landed = null, landed_slot = 0, stale = true where lane = 0`,
);

/** What the workers do, once. */
async function turn(app: App): Promise<void> {
  await runPlanner(app);
  for (const { id } of await app.db.query(selectDue)) await signAndSend(app, transactionTypes, id);
  await pollPending(app, transactionTypes);
}

/** Works until all is paid; a process that is killed is followed by one that is not. @returns whether it was killed */
async function workOn(owed: readonly { id: string; created: boolean }[], process: Mortal): Promise<boolean> {
  let killed = false;
  const end = performance.now() + 15_000;
  while (performance.now() < end) {
    try {
      await turn(killed ? t.app : process.app);
    } catch (error) {
      // What runs beside the killed operation may say so in words of its own.
      if (!(error instanceof Killed) && process.operations === 0) throw error;
      killed = true;
    }
    if ((await storedPayments(t, owed)).every(({ state }) => state === 'completed')) return killed;
    await lookAgain(t, owed);
    await sleep(40);
  }
  throw new Error(`not paid: ${JSON.stringify(await storedPayments(t, owed))}`);
}

test.each(['before', 'after'] as const)(
  'whoever works on payouts may be killed %s any operation: everybody is paid once',
  async (when) => {
    let at = 1;
    for (let killed = true; killed; at += EVERY) {
      const currency = at % 2 === 0 ? 'usdc' : 'reward';
      const all = [debt({ amount: 3n, currency }), debt({ amount: 5n, currency })];
      if (at % 3 === 0) await t.app.tx((tx) => tx.query(endLane));
      const owed = await oweAll(t, all);
      killed = await workOn(owed, mortal(t.app, at, when));
      const wallets = all.map(({ wallet }) => wallet);
      expect(await balancesOf(t, wallets, currency)).toEqual([3n, 5n]);
    }
    // So many operations it takes at least, from what is owed to what is paid.
    expect(at).toBeGreaterThan(60);
    expect(await t.app.db.query(selectTwice)).toEqual([]);
  },
  90_000,
);
