import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Fault } from '#dev/localnet/control/orders.ts';
import { statement } from '#platform/db/sql.ts';
import { balancesOf, debt, oweAll, type PayoutsTest, startPayoutsTest, untilPaid } from '#test/support/areas/payouts.ts';
import { eventually } from '#test/support/areas/player.ts';

let t: PayoutsTest;
/** The account that every batch names, and nothing else that lanes do. */
let mint: string;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { PAYOUT_LANES: '2', LANDING_GIVE_UP_MS: '300' } });
  mint = t.chain.keys.usdcMint.publicKey.toBase58();
  await untilPaid(
    t,
    await oweAll(
      t,
      Array.from({ length: 8 }, () => debt()),
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

const debts = (n: number) => Array.from({ length: n }, (_, i) => debt({ amount: BigInt(10 + i) }));

const FAULTS: [string, Fault[]][] = [
  ['the first sending is dropped', [{ kind: 'drop', times: 2 }]],
  ['the reply to it is lost', [{ kind: 'loseReply', times: 2, methods: ['sendTransaction'] }]],
  ['it lands late', [{ kind: 'late', slots: 15, times: 2 }]],
  ['it lands in a minority’s block', [{ kind: 'fork', slots: 3, times: 2 }]],
  ['the node limits us', [{ kind: 'rateLimit', probability: 0.2, seed: 1, times: 3 }]],
  ['the node fails', [{ kind: 'fail', probability: 0.2, seed: 2, times: 3 }]],
  ['connections are cut', [{ kind: 'cut', probability: 0.2, seed: 3, times: 3 }]],
  ['answers are slow', [{ kind: 'delay', ms: 100, probability: 0.5, seed: 4 }]],
];
test.each(FAULTS)('everybody is paid once when %s', async (_what, faults) => {
  const all = debts(10);
  const switched = await Promise.all(faults.map((fault) => t.chain.control.fault(fault)));
  const owed = await oweAll(t, all);
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

test('a batch that does not land is given up: its nonce is used by something else, and its members go into another', async () => {
  const all = debts(6);
  const dropping = await t.chain.control.fault({ kind: 'drop', mentions: mint });
  const owed = await oweAll(t, all);
  await eventually(async () => expect((await batchesOf(owed)).over).toBeGreaterThanOrEqual(2));
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

test('a batch that lands while it is being given up has paid, and nothing is paid again', async () => {
  const before = (await t.app.db.query(selectAdvances)).length;
  const lanes = await t.app.db.query(selectLanes);
  await t.chain.control.fault({ kind: 'late', mentions: mint, slots: 100, times: 1 });
  for (const { address } of lanes) await t.chain.control.fault({ kind: 'drop', mentions: address });
  const one = debt();
  const [owed] = await oweAll(t, [one]);
  if (!owed) throw new Error('nothing is owed');
  await untilPaid(t, [owed]);
  await t.chain.control.clear();
  await eventually(async () => {
    const advances = (await t.app.db.query(selectAdvances)).slice(before);
    expect(advances).toEqual([{ state: 'failed', error: expect.objectContaining({ name: 'Dead' }) }]);
  });
  expect(await batchesOf([owed])).toEqual({ paid: 1 });
  // The lane goes on.
  const others = debts(6);
  await untilPaid(t, await oweAll(t, others));
  expect(
    await balancesOf(
      t,
      [one, ...others].map(({ wallet }) => wallet),
    ),
  ).toEqual([one, ...others].map(({ amount }) => amount));
});

test('a batch that is given up and one that lands late: whichever is final decides', async () => {
  // The batch lands about when it is given up, now before its nonce is advanced and now after.
  for (const slots of [25, 35, 45, 55]) {
    await t.chain.control.fault({ kind: 'late', mentions: mint, slots, times: 1 });
    const dropping = await t.chain.control.fault({ kind: 'drop', mentions: mint, times: 8 });
    const one = debt();
    await untilPaid(t, await oweAll(t, [one]));
    await dropping.clear();
    expect(await balancesOf(t, [one.wallet])).toEqual([one.amount]);
  }
});
