import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createPayments, readPayment } from '#areas/payouts';
import { jobs } from '#jobs/index.ts';
import { QUEUES } from '#jobs/queues.ts';
import { schedule } from '#jobs/schedule.ts';
import { statement } from '#platform/db/sql.ts';
import { enqueueDue, PRIORITIES, submit } from '#platform/solana/submission/index.ts';
import { startWorker, type TestApp } from '#test/support/app.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asOwner } from '#test/support/database.ts';
import { accountOf, claimBody, newClaimant, openEpoch, type RewardsTest, startRewardsTest, untilEpoch } from '#test/support/solana/claims.ts';
import { newPayment } from '#test/support/solana/submission.ts';
import { pollTransactions } from '#workers/chain-polling.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false, env: { PAYOUT_LANES: '1' } });
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const priorityOf = (job: object): unknown => Reflect.get(job, 'priority');
/** Returns the subjects' ranks of the jobs that wait in a queue, in the order in which a worker takes them. */
async function waitingRanks(queue: string): Promise<unknown[]> {
  const waiting = (await t.app.queues.all.get(queue)?.getPrioritized()) ?? [];
  return waiting.map(({ data, opts }) => [data.id, opts.priority]);
}
const submitAs = (caller: string | null, subjects: readonly string[], priority?: 'claims') =>
  t.app.tx((tx) => submit(tx, { name: 'draw-commitment', priority: 'commitments' }, subjects, { caller, ...(priority ? { priority } : {}) }));

test('in every queue either all jobs have a priority or none has one, because BullMQ runs jobs without a priority first', () => {
  for (const queue of QUEUES) {
    // Jobs of legacy rounds have a priority so that they run after all other jobs of their queue.
    const declared = Object.values(jobs).filter((job) => job.queue === queue && job !== jobs.advanceRound);
    const prioritized = declared.filter((job) => priorityOf(job) !== undefined);
    expect([queue, prioritized.length]).toEqual([queue, prioritized.length === 0 ? 0 : declared.length]);
    const recurring = declared.filter((job) => Object.entries(schedule).some(([key]) => jobs[key as keyof typeof jobs] === job));
    // The scheduler of a recurring job sets no priority.
    expect([queue, prioritized.length > 0 && recurring.length > 0]).toEqual([queue, false]);
  }
});

test('each class has a queue of its own, and each type of transaction belongs to one class', () => {
  expect(QUEUES.filter((queue) => queue.startsWith('sign-'))).toEqual(PRIORITIES.map((priority) => `sign-${priority}`));
  const types = [...transactionTypes.values()].map(({ name, priority }) => [name, priority]);
  expect(Object.fromEntries(types)).toMatchObject({
    ...{ 'draw-commitment': 'commitments', 'epoch-root': 'roots', 'epoch-close': 'roots', 'epoch-settle': 'roots' },
    ...{ 'payout-batch': 'payouts', 'advance-nonce': 'payouts', 'open-payout-lane': 'payouts', claim: 'claims' },
  });
});

test('a stranger’s commitments rank with claims, and a caller’s n-th pending transaction has rank n', async () => {
  const [ours, greedy, modest] = [newPayment(), Array.from({ length: 3 }, () => newPayment()), newPayment()];
  await submitAs(null, [ours]);
  await submitAs('greedy', greedy.slice(0, 2), 'claims');
  await submitAs('greedy', greedy.slice(2), 'claims');
  await submitAs('modest', [modest], 'claims');
  expect(await waitingRanks('sign-commitments')).toEqual([[expect.any(String), 1]]);
  const claims = await waitingRanks('sign-claims');
  // The first transaction of each caller is taken before the second transaction of any caller.
  expect(claims.map((job) => (job as [string, number])[1])).toEqual([1, 1, 2, 3]);

  await t.app.queues.all.get('sign-claims')?.obliterate({ force: true });
  await enqueueDue(t.app, 'claims');
  expect((await waitingRanks('sign-claims')).map((job) => (job as [string, number])[1])).toEqual([1, 1, 2, 3]);
  for (const queue of ['sign-claims', 'sign-commitments']) await t.app.queues.all.get(queue)?.obliterate({ force: true });
  await asOwner(t.app, (tx) => tx.em.execute(`delete from chain_transactions where kind = 'draw-commitment'`));
});

const insertPending = statement(
  'test_insert_pending_attempt',
  `with added as (
     insert into chain_transactions (kind, subject, state, attempts, priority) values ($1, $2, 'live', 1, $3) returning id)
   insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, last_valid_height, signed_slot, spends, spend_day, preamble, priority)
   select id, 1, 'sent', $2, '', '{}', 1000000000000, 1, '[]', 0, 0, $3 from added`,
);
const deletePending = [
  statement('test_delete_pending_attempts', `delete from chain_attempts where signature = any($1::text[])`),
  statement('test_delete_pending_transactions', `delete from chain_transactions where subject = any($1::text[])`),
];

test('a class whose status requests hang does not delay the polling of another class', async () => {
  await t.app.tx(async (tx) => {
    await tx.query(insertPending, ['claim', 'hanging', 'claims']);
    await tx.query(insertPending, ['advance-nonce', 'polled', 'payouts']);
  });
  let release = () => {};
  const hanging = new Promise<void>((resolve) => {
    release = resolve;
  });
  const polled = { hanging: 0, polled: 0 };
  const statuses = async ([signature]: readonly ['hanging' | 'polled']) => {
    polled[signature]++;
    if (signature === 'hanging') await hanging;
    return { slot: 1, statuses: [null] };
  };
  const node = new Proxy(t.app.chain.node, {
    get(of, name) {
      const value: unknown = name === 'statuses' ? statuses : Reflect.get(of, name);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
  const chain = Object.create(t.app.chain, { node: { value: node }, second: { value: null } });
  const run = pollTransactions({ ...t.app, chain }, {});
  try {
    await retryUntilPass(() => expect(polled.polled).toBeGreaterThan(5));
    expect(polled.hanging).toBe(1);
  } finally {
    release();
    await asOwner(t.app, async (tx) => {
      for (const one of deletePending) await tx.query(one, [['hanging', 'polled']]);
    });
  }
  await run;
});

test('claims whose requests to the RPC node hang delay neither a payment nor a root', async () => {
  const worker: Awaited<ReturnType<typeof startWorker>> = await startWorker(t.env, (t as TestApp).clock);
  try {
    const players = await Promise.all(Array.from({ length: 110 }, () => newClaimant(t, { tokenAccount: false })));
    const epoch = await openEpoch(
      t,
      800,
      players.map(({ wallet }) => [wallet, 10n]),
    );
    // More claims hang than jobs of claims run at the same time.
    const hanging = await t.chain.control.fault({ kind: 'delay', ms: 20_000, mentions: accountOf(t, 800).toBase58() });
    for (const player of players) {
      await player.fetch('/api/rewards/claim', { json: claimBody(epoch, player.wallet), headers: { Prefer: 'wait=0' } });
    }
    const activeClaims = async () => await t.app.queues.all.get('sign-claims')?.getActiveCount();
    await retryUntilPass(async () => expect(await activeClaims()).toBe(96));

    const started = performance.now();
    const payee = await newClaimant(t);
    const [payment] = await t.app.tx((tx) =>
      createPayments(t.app, tx, [{ wallet: payee.wallet, currency: 'reward', amount: 5n, cause: { kind: 'test', id: 'burst' } }]),
    );
    await openEpoch(t, 801, [[payee.wallet, 10n]]);
    await retryUntilPass(async () => expect((await readPayment(t.app.db, payment?.id ?? ''))?.status).toBe('completed'));
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(await activeClaims()).toBe(96);

    await hanging.clear();
    await untilEpoch(t, 801, 'committed');
  } finally {
    await worker.close();
  }
}, 120_000);
