import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readNonceUser } from '#areas/payouts/lanes/nonce-user.ts';
import { lockLane, markStale, settleLane } from '#areas/payouts/lanes/rows.ts';
import { resumePayouts } from '#areas/payouts/reconciliation/pause.ts';
import { run } from '#platform/db/query-builder.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress, type StoredLane, storeBatch, storeLane } from '#test/support/areas/payout-rows.ts';
import { createAllPayments, paymentRequest } from '#test/support/areas/payouts.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const SLOT = 100;
const next = randomAddress();

/** Returns whether a result of a read at `slot` is stored: the lane's nonce is now `next`. */
async function settles(
  { lane, address, nonce }: StoredLane,
  { slot = SLOT, read = nonce as string | null, account = address } = {},
): Promise<boolean> {
  return (await t.app.tx((tx) => tx.query(settleLane, [lane, account, next, slot, 'landed', 7, read]))).length > 0;
}
const rowOf = async ({ lane }: StoredLane) =>
  (
    await sql(t.app, 'select nonce, nonce_slot::int as slot, landed, landed_slot::int as "landedSlot", stale from payout_lanes where lane = $1', [
      lane,
    ])
  )[0];
const staleLane = () => storeLane(t.app, { stale: true, nonceSlot: SLOT });

test('the nonce that an account has is stored for its lane, and other lanes keep theirs', async () => {
  const [lane, other] = [await staleLane(), await staleLane()];
  expect(await settles(lane)).toBe(true);
  expect(await rowOf(lane)).toEqual({ nonce: next, slot: SLOT, landed: 'landed', landedSlot: 7, stale: false });
  expect(await rowOf(other)).toMatchObject({ nonce: other.nonce, stale: true });
});

test('the nonce of a lane is not stored when a batch uses the lane, or when its account, its nonce or a later read has changed it', async () => {
  const lane = await staleLane();
  expect(await settles(lane, { account: randomAddress() })).toBe(false);
  expect(await settles(lane, { read: randomAddress() })).toBe(false);
  expect(await settles(lane, { read: null })).toBe(false);
  expect(await settles(lane, { slot: SLOT - 1 })).toBe(false);
  const busy = await staleLane();
  const payments = await createAllPayments(t, [paymentRequest({ amount: 5n })]);
  await storeBatch(
    t.app,
    payments.map(({ id }) => id),
    busy,
  );
  expect(await settles(busy)).toBe(false);
  for (const one of [lane, busy]) expect(await rowOf(one)).toMatchObject({ nonce: one.nonce, landed: null });
});

test('a lane without a stored nonce gets its first nonce', async () => {
  const lane = await staleLane();
  await sql(t.app, 'update payout_lanes set nonce = null where lane = $1', [lane.lane]);
  expect(await settles(lane, { read: null })).toBe(true);
  expect(await rowOf(lane)).toMatchObject({ nonce: next, stale: false });
});

test('a batch locks a lane only if no batch uses the lane, the lane is not stale, and its account and nonce are those of the plan', async () => {
  const locks = async ({ lane, address, nonce }: Omit<StoredLane, 'authority'>) =>
    (await t.app.tx((tx) => tx.query(lockLane, [lane, address, nonce]))).map((row) => row.lane);
  const [lane, other] = [await storeLane(t.app), await storeLane(t.app)];
  expect(await locks(lane)).toEqual([lane.lane]);
  expect(await locks({ ...lane, nonce: other.nonce })).toEqual([]);
  expect(await locks({ ...lane, address: other.address })).toEqual([]);
  expect(await locks(await staleLane())).toEqual([]);
  const payments = await createAllPayments(t, [paymentRequest({ amount: 5n })]);
  await storeBatch(
    t.app,
    payments.map(({ id }) => id),
    other,
  );
  expect(await locks(other)).toEqual([]);
});

test('a lane whose nonce no known transaction used becomes stale, and other lanes do not', async () => {
  const [lane, other] = [await storeLane(t.app), await storeLane(t.app)];
  expect(await readNonceUser(t.app, { account: lane.address, nonce: randomAddress() })).toBeNull();
  expect([await rowOf(lane), await rowOf(other)]).toMatchObject([{ stale: true }, { stale: false }]);
});

test('a lane whose nonce may have been used is marked as stale, and other lanes are not', async () => {
  const [lane, other] = [await storeLane(t.app), await storeLane(t.app)];
  await t.app.tx((tx) => run(tx, markStale([lane.lane])));
  expect([await rowOf(lane), await rowOf(other)]).toMatchObject([{ stale: true }, { stale: false }]);
});

test('an operator who resumes payouts accepts existing lanes only, and must name all unmatched transactions', async () => {
  const [lane, other] = [await storeLane(t.app), await storeLane(t.app)];
  const accepted = async () =>
    sql(t.app, 'select accepted, stale from payout_lanes where lane = any($1::int[]) order by lane', [[lane.lane, other.lane]]);
  const neither = { accepted: false, stale: false };
  await expect(resumePayouts(t.app, 'an operator', ['a-signature'], [lane.lane])).rejects.toMatchObject({ status: 409 });
  await expect(resumePayouts(t.app, 'an operator', [], [lane.lane, 30_000])).rejects.toMatchObject({ status: 400 });
  expect(await accepted()).toEqual([neither, neither]);
  await resumePayouts(t.app, 'an operator', [], [lane.lane]);
  expect(await accepted()).toEqual([{ accepted: true, stale: true }, neither]);
});
