import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { FaultRule } from '#dev/localnet/control/commands.ts';
import { statement } from '#platform/db/sql.ts';
import { balancesOf, createAllPayments, type PayoutsTest, paymentRequest, startPayoutsTest, untilPaid } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';

let t: PayoutsTest;
/** Address of the mint. Batches name it; transactions that advance or open lanes do not. */
let mint: string;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { PAYOUT_LANES: '2', LANDING_GIVE_UP_MS: '300' } });
  mint = t.chain.keys.usdcMint.publicKey.toBase58();
  await untilPaid(
    t,
    await createAllPayments(
      t,
      Array.from({ length: 8 }, () => paymentRequest()),
    ),
  );
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const countBatches = statement<{ state: string; n: number }>(
  'test_batches_of_payments',
  `select b.state, count(distinct b.id)::int as n from payout_batches b join payout_batch_members m on m.batch = b.id
   where m.payment = any($1::uuid[]) group by b.state`,
);
const batchesOf = async (owed: readonly { id: string }[]) =>
  Object.fromEntries((await t.app.db.query(countBatches, [owed.map(({ id }) => id)])).map(({ state, n }) => [state, n]));
const selectAdvances = statement<{ state: string; error: { name: string } | null }>(
  'test_advances',
  `select state, error from chain_transactions where kind = 'advance-nonce' order by created_at`,
);
const selectLanes = statement<{ address: string }>('test_lane_addresses', 'select address from payout_lanes order by lane');

const requests = (n: number) => Array.from({ length: n }, (_, i) => paymentRequest({ amount: BigInt(10 + i) }));

const FAULTS: [string, FaultRule[]][] = [
  ['the cluster drops transactions', [{ kind: 'drop', times: 2 }]],
  ['responses to sendTransaction are lost', [{ kind: 'loseReply', times: 2, methods: ['sendTransaction'] }]],
  ['transactions land late', [{ kind: 'late', slots: 15, times: 2 }]],
  ['a fork drops transactions', [{ kind: 'fork', slots: 3, times: 2 }]],
  ['the RPC node applies rate limits', [{ kind: 'rateLimit', probability: 0.2, seed: 1, times: 3 }]],
  ['RPC requests fail', [{ kind: 'fail', probability: 0.2, seed: 2, times: 3 }]],
  ['RPC connections are cut', [{ kind: 'cut', probability: 0.2, seed: 3, times: 3 }]],
  ['RPC responses are slow', [{ kind: 'delay', ms: 100, probability: 0.5, seed: 4 }]],
];
test.each(FAULTS)('each payment is made once when %s', async (_what, faults) => {
  const all = requests(10);
  const switched = await Promise.all(faults.map((fault) => t.chain.control.fault(fault)));
  const owed = await createAllPayments(t, all);
  await untilPaid(t, owed);
  expect(await switched[0]?.hits()).toBeGreaterThan(0);
  await t.chain.control.clear();
  expect(
    await balancesOf(
      t,
      all.map(({ wallet }) => wallet),
    ),
  ).toEqual(all.map(({ amount }) => amount));
});

test('when a batch does not land, its nonce is advanced and its members are paid by another batch', async () => {
  const all = requests(6);
  const dropping = await t.chain.control.fault({ kind: 'drop', mentions: mint });
  const owed = await createAllPayments(t, all);
  await retryUntilPass(async () => expect((await batchesOf(owed)).over).toBeGreaterThanOrEqual(2));
  await dropping.clear();
  await untilPaid(t, owed);
  expect((await t.app.db.query(selectAdvances)).map(({ state }) => state)).toContain('finalized');
  expect(
    await balancesOf(
      t,
      all.map(({ wallet }) => wallet),
    ),
  ).toEqual(all.map(({ amount }) => amount));
});

test('when a batch lands while its nonce is being advanced, its members are not paid again', async () => {
  const before = (await t.app.db.query(selectAdvances)).length;
  const lanes = await t.app.db.query(selectLanes);
  await t.chain.control.fault({ kind: 'late', mentions: mint, slots: 100, times: 1 });
  for (const { address } of lanes) await t.chain.control.fault({ kind: 'drop', mentions: address });
  const one = paymentRequest();
  const [owed] = await createAllPayments(t, [one]);
  if (!owed) throw new Error('no payment was created');
  await untilPaid(t, [owed]);
  await t.chain.control.clear();
  await retryUntilPass(async () => {
    const advances = (await t.app.db.query(selectAdvances)).slice(before);
    expect(advances).toEqual([{ state: 'failed', error: expect.objectContaining({ name: 'Dead' }) }]);
  });
  expect(await batchesOf([owed])).toEqual({ paid: 1 });
  // The lane can be used again.
  const others = requests(6);
  await untilPaid(t, await createAllPayments(t, others));
  expect(
    await balancesOf(
      t,
      [one, ...others].map(({ wallet }) => wallet),
    ),
  ).toEqual([one, ...others].map(({ amount }) => amount));
});

test('a batch that lands late, before or after its nonce is advanced, pays its member once', async () => {
  // The four delays make the batch land before or after the advance of the nonce.
  for (const slots of [25, 35, 45, 55]) {
    await t.chain.control.fault({ kind: 'late', mentions: mint, slots, times: 1 });
    const dropping = await t.chain.control.fault({ kind: 'drop', mentions: mint, times: 8 });
    const one = paymentRequest();
    await untilPaid(t, await createAllPayments(t, [one]));
    await dropping.clear();
    expect(await balancesOf(t, [one.wallet])).toEqual([one.amount]);
  }
});
