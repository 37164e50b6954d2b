import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { markConfirmed, markRetracted, settleFailed, settleFinalized } from '#areas/payouts/batches/settlement.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { storeBatch } from '#test/support/areas/payout-rows.ts';
import { createAllPayments, eventsOf, paymentRequest } from '#test/support/areas/payouts.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

async function createPayments(n: number): Promise<string[]> {
  const created = await createAllPayments(
    t,
    Array.from({ length: n }, () => paymentRequest()),
  );
  return created.map(({ id }) => id);
}

interface PaymentRow {
  state: string;
  reason: string | null;
  signature: string | null;
  refusals: number;
  giveUps: number;
  /** Time until the payment may be planned again, ms; 0 when it may be planned at once. */
  wait: number;
}
async function rowsOf(ids: readonly string[]): Promise<PaymentRow[]> {
  return await sql<PaymentRow>(
    t.app,
    `select p.state, p.reason, p.signature, p.refusals::int, p.give_ups::int as "giveUps",
       greatest(0, round(extract(epoch from p.next_at - p.changed_at) * 100) * 10)::int as wait
     from unnest($1::uuid[]) with ordinality as o(id, n) join payments p on p.id = o.id order by o.n`,
    [ids],
  );
}
const batchRow = async (id: string) =>
  (
    await sql<{ state: string; signature: string | null; slot: string | null; error: unknown }>(
      t.app,
      'select state, signature, slot::text, error from payout_batches where id = $1',
      [id],
    )
  )[0];
const laneRow = async (lane: number) => (await sql(t.app, 'select batch, stale from payout_lanes where lane = $1', [lane]))[0];
const eventTypes = async (id: string) => (await eventsOf(t, { id, created: true })).map(({ type }) => type);

const chainError = (name: string, instruction: number | null = null) => ({ name, message: `the error ${name}`, instruction, code: null });
const fail = (batch: string, error: ReturnType<typeof chainError>, signature: string | null = null) =>
  t.app.tx((tx) => settleFailed(tx, [{ subject: batch, signature, error }]));

test('a payment that caused three batches to fail becomes manual; after the first two failures it is planned again', async () => {
  const [culprit = '', other = ''] = await createPayments(2);
  for (const refusals of [1, 2]) {
    const { id } = await storeBatch(t.app, [culprit, other]);
    // Instruction 1 is the transfer to the first member.
    await fail(id, chainError('Custom17', 1));
    expect(await rowsOf([culprit, other])).toMatchObject([
      { state: 'pending', refusals, giveUps: 0, wait: 0 },
      { state: 'pending', refusals: 0, giveUps: 0, wait: 0 },
    ]);
    expect(await eventTypes(culprit)).toEqual([]);
  }
  const { id } = await storeBatch(t.app, [culprit, other]);
  await fail(id, chainError('Custom17', 1));
  expect(await rowsOf([culprit, other])).toMatchObject([
    { state: 'manual', reason: 'the chain refused the payment: the error Custom17', signature: null, refusals: 3 },
    { state: 'pending', reason: null, refusals: 0, wait: 0 },
  ]);
  expect([await eventTypes(culprit), await eventTypes(other)]).toEqual([['payout_failed'], []]);
});

test('a payment that is known to be unpayable becomes manual after its first failed batch, with the reason', async () => {
  const [first = '', culprit = ''] = await createPayments(2);
  const { id } = await storeBatch(t.app, [first, culprit]);
  await fail(id, chainError('Unpayable', 2));
  expect(await rowsOf([first, culprit])).toMatchObject([
    { state: 'pending', refusals: 0 },
    { state: 'manual', reason: 'the error Unpayable', refusals: 1 },
  ]);
});

test('an error that no single payment causes counts against no payment, and the payments of the batch wait for a second', async () => {
  for (const name of ['TreasuryShort', 'TreasuryFrozen', 'OverLimit', 'AccountGone']) {
    const ids = await createPayments(2);
    for (let i = 0; i < 4; i++) await fail((await storeBatch(t.app, ids)).id, chainError(name, 1));
    expect(await rowsOf(ids)).toMatchObject(ids.map(() => ({ state: 'pending', refusals: 0, giveUps: 0, wait: 1_000 })));
  }
  const ids = await createPayments(1);
  await fail((await storeBatch(t.app, ids)).id, chainError('NonceUsed'));
  expect(await rowsOf(ids)).toMatchObject([{ state: 'pending', refusals: 0, giveUps: 0, wait: 1_000 }]);
});

test('the payments of an expired batch are planned again at once, and the expiry is counted', async () => {
  const ids = await createPayments(2);
  for (const giveUps of [1, 2]) {
    await fail((await storeBatch(t.app, ids)).id, chainError('Dead'));
    expect(await rowsOf(ids)).toMatchObject(ids.map(() => ({ state: 'pending', refusals: 0, giveUps, wait: 0 })));
  }
});

test('a failed batch is closed with its error, its lane is free and stale, and a second failure of it changes nothing', async () => {
  const ids = await createPayments(1);
  const { id, lane } = await storeBatch(t.app, ids);
  const signature = randomSignature();
  await fail(id, chainError('Custom17', 1), signature);
  expect(await batchRow(id)).toEqual({ state: 'over', signature, slot: null, error: chainError('Custom17', 1) });
  expect(await laneRow(lane)).toEqual({ batch: null, stale: true });
  expect(await sql(t.app, 'select live from payout_batch_members where batch = $1', [id])).toEqual([{ live: false }]);

  const next = await storeBatch(t.app, ids);
  await fail(id, chainError('Custom17', 1), signature);
  expect(await rowsOf(ids)).toMatchObject([{ state: 'batched', refusals: 1 }]);
  expect(await laneRow(next.lane)).toEqual({ batch: next.id, stale: false });
});

test('several failed batches are settled in one call', async () => {
  const ids = await createPayments(2);
  const [first, second] = [await storeBatch(t.app, ids.slice(0, 1)), await storeBatch(t.app, ids.slice(1))];
  const unknown = '00000000-0000-4000-8000-000000000000';
  const subjects = [first.id, unknown, second.id];
  await t.app.tx((tx) =>
    settleFailed(
      tx,
      subjects.map((subject) => ({ subject, signature: null, error: chainError('Dead') })),
    ),
  );
  expect(await rowsOf(ids)).toMatchObject([
    { state: 'pending', giveUps: 1 },
    { state: 'pending', giveUps: 1 },
  ]);
});

test('a failed batch forgets the token accounts that it did not open, and a finalized batch remembers those that it opened', async () => {
  const [a = '', b = ''] = await createPayments(2);
  const [failed, paid] = [await storeBatch(t.app, [a]), await storeBatch(t.app, [b])];
  for (const { id, address } of [failed, paid]) {
    await sql(t.app, 'insert into token_accounts_opened (wallet, mint, cause) select wallet, $2, $3 from payments where id = $1', [
      id === paid.id ? b : a,
      address,
      id,
    ]);
  }
  await fail(failed.id, chainError('Dead'));
  await t.app.tx((tx) => settleFinalized(tx, [{ subject: paid.id, signature: randomSignature(), slot: 7 }]));
  const causes = await sql<{ cause: string }>(t.app, 'select cause::text from token_accounts_opened where cause = any($1::uuid[])', [
    [failed.id, paid.id],
  ]);
  expect(causes).toEqual([{ cause: paid.id }]);
});

test('a confirmed batch confirms only its payments that are batched, and a fork sets the confirmed ones back', async () => {
  const [a = '', b = '', other = ''] = await createPayments(3);
  const [{ id }, second] = [await storeBatch(t.app, [a, b]), await storeBatch(t.app, [other])];
  const signature = randomSignature();
  await t.app.tx((tx) => markConfirmed(tx, [{ subject: id, signature, slot: 7 }]));
  expect(await rowsOf([a, b, other])).toMatchObject([
    { state: 'confirmed', signature },
    { state: 'confirmed', signature },
    { state: 'batched', signature: null },
  ]);
  await t.app.tx((tx) => markConfirmed(tx, [{ subject: second.id, signature: randomSignature(), slot: 8 }]));
  await sql(t.app, `update payments set state = 'completed', completed_at = app_now() where id = $1`, [b]);
  await t.app.tx((tx) => markRetracted(tx, [id]));
  expect(await rowsOf([a, b, other])).toMatchObject([
    { state: 'batched', signature: null },
    { state: 'completed', signature },
    { state: 'confirmed' },
  ]);
});

test('a batch that is closed confirms and retracts no payment', async () => {
  const ids = await createPayments(1);
  const closed = await storeBatch(t.app, ids);
  await fail(closed.id, chainError('Dead'));
  const live = await storeBatch(t.app, ids);
  await t.app.tx((tx) => markConfirmed(tx, [{ subject: closed.id, signature: randomSignature(), slot: 7 }]));
  expect(await rowsOf(ids)).toMatchObject([{ state: 'batched', signature: null }]);
  const signature = randomSignature();
  await t.app.tx((tx) => markConfirmed(tx, [{ subject: live.id, signature, slot: 8 }]));
  await t.app.tx((tx) => markRetracted(tx, [closed.id]));
  expect(await rowsOf(ids)).toMatchObject([{ state: 'confirmed', signature }]);
});

test('a finalized batch completes its payments once, with one event each, and leaves a payment that was decided otherwise', async () => {
  const [a = '', b = '', decided = ''] = await createPayments(3);
  const { id, lane } = await storeBatch(t.app, [a, b, decided]);
  const signature = randomSignature();
  await t.app.tx((tx) => markConfirmed(tx, [{ subject: id, signature, slot: 7 }]));
  await sql(t.app, `update payments set state = 'batched', signature = null where id = $1`, [b]);
  await sql(t.app, `update payments set state = 'manual', signature = null where id = $1`, [decided]);
  for (let i = 0; i < 2; i++) await t.app.tx((tx) => settleFinalized(tx, [{ subject: id, signature, slot: 7 }]));
  expect(await rowsOf([a, b, decided])).toMatchObject([
    { state: 'completed', signature, reason: null },
    { state: 'completed', signature, reason: null },
    { state: 'manual', signature: null },
  ]);
  expect([await eventTypes(a), await eventTypes(b), await eventTypes(decided)]).toEqual([['payout_confirmed'], ['payout_confirmed'], []]);
  expect(await batchRow(id)).toEqual({ state: 'paid', signature, slot: '7', error: null });
  expect(await laneRow(lane)).toEqual({ batch: null, stale: true });
});

test('the finalized transaction of a batch that is over does not close the batch again', async () => {
  const ids = await createPayments(1);
  const { id } = await storeBatch(t.app, ids);
  await fail(id, chainError('Dead'));
  await t.app.tx((tx) => settleFinalized(tx, [{ subject: id, signature: randomSignature(), slot: 7 }]));
  expect(await batchRow(id)).toMatchObject({ state: 'over' });
  expect(await rowsOf(ids)).toMatchObject([{ state: 'pending' }]);
});
