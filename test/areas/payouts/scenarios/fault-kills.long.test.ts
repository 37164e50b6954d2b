import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { runPlanner } from '#areas/payouts';
import type { FaultRule } from '#dev/localnet/control/commands.ts';
import type { App } from '#platform/app.ts';
import { pollPending, signAndSend } from '#platform/solana/submission/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  balancesOf,
  createAllPayments,
  eventsOf,
  type PayoutsTest,
  paymentRequest,
  planNow,
  startPayoutsTest,
  storedPayments,
} from '#test/support/areas/payouts.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { type KillableApp, Killed, killableApp } from '#test/support/solana/submission.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

/** Step between the operations at which the worker is killed. bin/soak sets 1: at every operation. */
const EVERY = Number(process.env.CHAOS_EVERY ?? 13);
const TIMEOUT_MS = 60_000 + 1_000_000 / EVERY;
/** A payment takes more than this number of operations. */
const MIN_OPERATIONS = 60;

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest({ workers: false, env: { PAYOUT_LANES: '2', LANDING_GIVE_UP_MS: '600' } });
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

/** Runs planner, signing and polling once, as the workers do. */
async function turn(app: App): Promise<void> {
  await runPlanner(app);
  const due = await app.db.query<{ id: string }>({
    text: `select id::text from chain_transactions where state = 'queued' and next_at <= app_now() order by id`,
  });
  for (const { id } of due) await signAndSend(app, transactionTypes, id);
  await pollPending(app, transactionTypes);
}

/** Runs turns until all payments are completed. After the kill, uses an application that is not killed. @returns whether it was killed */
async function workOn(owed: readonly { id: string; created: boolean }[], process: KillableApp, at: number): Promise<boolean> {
  let killed = false;
  const end = performance.now() + PATIENCE * 20_000;
  while (performance.now() < end) {
    try {
      await turn(killed ? t.app : process.app);
    } catch (error) {
      // Operations that run concurrently with the killed one may fail with other errors.
      if (!(error instanceof Killed) && process.operations < at) throw error;
    }
    // The code under test may have caught `Killed` as the error of a dependency, so the operations are checked too.
    if (process.operations >= at) killed = true;
    if ((await storedPayments(t, owed)).every(({ state }) => state === 'completed')) return killed;
    await planNow(t, owed);
    await sleep(30);
  }
  throw new Error(`payments are not completed: ${JSON.stringify(await storedPayments(t, owed))}`);
}

const SEND = ['sendTransaction'];
const FAULTS: [string, FaultRule][] = [
  ['the cluster drops every second transaction', { kind: 'drop', probability: 0.5, seed: 1 }],
  ['responses to sendTransaction are lost', { kind: 'loseReply', methods: SEND }],
  ['transactions land late, some after their batch was given up', { kind: 'late', slots: 55, probability: 0.6, seed: 2 }],
  ['forks drop transactions', { kind: 'fork', slots: 4, probability: 0.6, seed: 3 }],
  ['the two providers lag behind', { kind: 'delay', ms: 20 }],
];

test.each(FAULTS)(
  'when %s and a worker is killed at any operation, each payment is made once',
  async (what, fault) => {
    if (what.includes('lag')) await Promise.all([t.chain.control.lag(12), t.chain.control.lag(25, 'second')]);
    // Batches name the mint; transactions that advance or open lanes do not.
    await t.chain.control.fault(what.includes('lag') ? fault : { ...fault, mentions: t.chain.keys.usdcMint.publicKey.toBase58() });
    let at = 1;
    for (let killed = true; killed; at += EVERY) {
      const all = [3n, 5n, 7n].map((amount) => paymentRequest({ amount }));
      const owed = await createAllPayments(t, all);
      killed = await workOn(owed, killableApp(t.app, at, at % 2 === 0 ? 'before' : 'after'), at);
      const wallets = all.map(({ wallet }) => wallet);
      expect([at, await balancesOf(t, wallets)]).toEqual([at, [3n, 5n, 7n]]);
      for (const payment of owed) {
        const confirmed = (await eventsOf(t, payment)).filter(({ type }) => type === 'payout_confirmed');
        expect([at, confirmed.length]).toEqual([at, 1]);
      }
      if (at > 20 * MIN_OPERATIONS) throw new Error('the worker is killed without end');
    }
    expect(at).toBeGreaterThan(MIN_OPERATIONS);
    const twice = `select m.payment from payout_batch_members m join payout_batches b on b.id = m.batch where b.state = 'paid' group by 1 having count(*) > 1`;
    expect(await sql(t.app, twice)).toEqual([]);
    expect(await sql(t.app, `select address from payout_batches where state = 'paid' group by address, nonce having count(*) > 1`)).toEqual([]);
  },
  TIMEOUT_MS,
);
