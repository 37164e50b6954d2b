import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { publishedMember } from '#areas/payouts/batches/members.ts';
import { nonceUseOf } from '#areas/payouts/lanes/unknown-transaction.ts';
import { insertUnknownTransactions, matchTransactions } from '#areas/payouts/lanes/unmatched-transactions.ts';
import { membersHash, payoutMemo } from '#lib/draw/payout.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress, type StoredLane, storeLane } from '#test/support/areas/payout-rows.ts';
import { createAllPayments, eventsOf, paymentRequest } from '#test/support/areas/payouts.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import { meanwhile } from '#test/support/meanwhile.ts';
import { LaneChain, type LanePayment } from './lane-chain.ts';

let chain: LaneChain;
let t: TestApp;
beforeAll(async () => {
  chain = await LaneChain.start();
  t = chain.t;
});
beforeEach(() => chain.reset());
afterAll(() => t.close());

/** Stores a transaction on a lane that pays payments, as a reconciliation finds it. @returns its signature */
async function storeUnknown(lane: StoredLane, payments: readonly (LanePayment & { id: string })[], hash?: string): Promise<string> {
  const usdc = t.app.chain.usdcMint.toBase58();
  const members = payments.map(({ mint = usdc, ...payment }) => publishedMember({ ...payment, cause: { kind: 'test', id: payment.id } }, mint));
  const memo = payoutMemo('00000000-0000-4000-8000-000000000000', hash ?? membersHash(members));
  const signature = chain.addTransaction(lane, lane.nonce, { payments, memo });
  const found = chain.transactions.get(signature);
  const use = found && nonceUseOf(lane, signature, found);
  if (!use) throw new Error('the transaction uses no nonce of the lane');
  await t.app.tx((tx) => insertUnknownTransactions(tx, lane, [use]));
  return signature;
}

async function createPayments(n: number): Promise<(LanePayment & { id: string })[]> {
  const requests = Array.from({ length: n }, (_, i) => paymentRequest({ amount: BigInt(100 + i) }));
  const created = await createAllPayments(t, requests);
  return created.map(({ id }, i) => ({ id, wallet: requests[i]?.wallet ?? '', amount: requests[i]?.amount ?? 0n }));
}
const paymentStates = async (payments: readonly { id: string }[]) =>
  await sql(t.app, 'select p.state, p.signature from unnest($1::uuid[]) with ordinality as o(id, n) join payments p on p.id = o.id order by o.n', [
    payments.map(({ id }) => id),
  ]);
const verdictOn = async (signature: string) =>
  (await sql(t.app, 'select verdict, reason, payments::text[] from payout_findings where signature = $1', [signature]))[0];

test('an unknown transaction completes the payments that it made in each open state, with one event each', async () => {
  const lane = await storeLane(t.app);
  const payments = await createPayments(4);
  for (const [i, state] of ['pending', 'batched', 'manual'].entries()) {
    await sql(t.app, 'update payments set state = $2 where id = $1', [payments[i]?.id, state]);
  }
  const signature = await storeUnknown(lane, payments);
  await sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1`, [payments[3]?.id, signature]);
  expect(await t.app.tx((tx) => matchTransactions(t.app, tx, lane))).toEqual([]);
  expect(await paymentStates(payments)).toEqual(payments.map(() => ({ state: 'completed', signature })));
  expect(await verdictOn(signature)).toEqual({ verdict: 'matched', reason: null, payments: payments.map(({ id }) => id) });
  const counts = await Promise.all(payments.map(async ({ id }) => (await eventsOf(t, { id, created: true })).length));
  expect(counts).toEqual([1, 1, 1, 0]);
});

test('a payment that another database transaction completes during the matching is not completed a second time', async () => {
  const lane = await storeLane(t.app);
  const payments = await createPayments(2);
  const signature = await storeUnknown(lane, payments);
  const other = randomSignature();
  const concurrent = meanwhile(t.app, 'select_payments_that_may_be_paid', () =>
    sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1`, [payments[0]?.id, other]),
  );
  await expect(concurrent.tx((tx) => matchTransactions(concurrent, tx, lane))).rejects.toThrow('changed while they were matched');
  expect(await paymentStates(payments)).toEqual([
    { state: 'completed', signature: other },
    { state: 'pending', signature: null },
  ]);
  expect(await verdictOn(signature)).toMatchObject({ verdict: 'unmatched' });
});

test('an unknown transaction completes no payment when a wallet, an amount, the token, the hash or the memo differs', async () => {
  const [payment] = await createPayments(1);
  if (!payment) throw new Error('no payment was created');
  const cases: [Partial<LanePayment>, string | undefined, string][] = [
    [{ wallet: randomAddress() }, undefined, 'but no open payment has this amount and account'],
    [{ amount: payment.amount + 1_000n }, undefined, 'but no open payment has this amount and account'],
    [{ mint: randomAddress() }, undefined, 'it pays a token that is not configured'],
    [{}, '0'.repeat(64), 'its transfers equal open payments, but the hash in its memo is that of other payments'],
    [{}, 'no hash', 'it has no batch memo or no transfers'],
  ];
  for (const [change, hash, reason] of cases) {
    const lane = await storeLane(t.app);
    const signature = await storeUnknown(lane, [{ ...payment, ...change }], hash);
    const [problem, ...others] = await t.app.tx((tx) => matchTransactions(t.app, tx, lane));
    expect(others).toEqual([]);
    expect(problem).toContain(`unmatched transaction ${signature}: `);
    expect(problem).toContain(reason);
    expect(await verdictOn(signature)).toMatchObject({ verdict: 'unmatched', reason: expect.stringContaining(reason), payments: [] });
  }
  expect(await paymentStates([payment])).toEqual([{ state: 'pending', signature: null }]);
});

test('a completed payment explains only the transaction with its own signature, and a payment of the orchestrator explains none', async () => {
  const [payment] = await createPayments(1);
  if (!payment) throw new Error('no payment was created');
  const lane = await storeLane(t.app);
  const signature = await storeUnknown(lane, [payment]);
  await sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1`, [
    payment.id,
    randomSignature(),
  ]);
  expect(await t.app.tx((tx) => matchTransactions(t.app, tx, lane))).toMatchObject([expect.stringContaining('no open payment')]);
  expect(await verdictOn(signature)).toMatchObject({ verdict: 'unmatched' });
});

test('the payments of an unknown transaction are locked in the order of their ids, so that two lanes do not deadlock', async () => {
  const lane = await storeLane(t.app);
  const payments = await createPayments(2);
  const signature = await storeUnknown(lane, payments);
  const [low = '', high = ''] = payments.map(({ id }) => id).sort();
  // In the table, the rows have the opposite order.
  for (const id of [high, low]) await sql(t.app, `update payments set state = 'manual' where id = $1`, [id]);
  const commit = await holdTransaction(t.app, (tx) => tx.query({ text: 'select 1 from payments where id = $1 for update' }, [low]));
  const matching = t.app.tx((tx) => matchTransactions(t.app, tx, lane));
  await untilBlocked(t.app, matching);
  const free = await sql(t.app, 'select id::text from payments where id = $1 for update skip locked', [high]).finally(commit);
  expect(free).toEqual([{ id: high }]);
  expect(await matching).toEqual([]);
  expect(await paymentStates(payments)).toEqual(payments.map(() => ({ state: 'completed', signature })));
});
