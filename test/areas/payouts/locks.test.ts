import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { retryPayment } from '#areas/payouts/decisions.ts';
import { lockLane, settleLane } from '#areas/payouts/lanes/rows.ts';
import { matchTransactions } from '#areas/payouts/lanes/unmatched-transactions.ts';
import { lockCandidates, lockPlanning } from '#areas/payouts/planning/rows.ts';
import { pausePayouts, resumePayouts } from '#areas/payouts/reconciliation/pause.ts';
import { prepareReport } from '#areas/payouts/reports.ts';
import { transferMismatch } from '#areas/payouts/transfers.ts';
import type { App } from '#platform/app.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { storeBatch } from '#test/support/areas/payout-rows.ts';
import { createAllPayments, paymentRequest } from '#test/support/areas/payouts.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';
import { expectToWait, holdTransaction } from '#test/support/locks.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
let byOrchestrator: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  byOrchestrator = await startTestApp({ workers: false, env: { USDC_PAYER: 'orchestrator' } });
});
afterAll(async () => {
  await t.close();
  await byOrchestrator.close();
});

/** Creates payments to one wallet. @returns their ids */
async function createPayments(to: TestApp, count: number): Promise<string[]> {
  const { address: wallet } = createWallet();
  const created = await createAllPayments(
    to,
    Array.from({ length: count }, () => paymentRequest({ wallet })),
  );
  return created.map(({ id }) => id);
}

test('of two concurrent decisions on one payment, the second waits for the first', async () => {
  const [id = ''] = await createPayments(t, 1);
  await sql(t.app, `update payments set state = 'manual' where id = $1`, [id]);
  const outcomes = await expectToWait(t.app, 'lock_payment', (app) => retryPayment(app, id));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
});

test('of two concurrent reports on one payment, the second waits for the first, and the newer one applies', async () => {
  const [id = ''] = await createPayments(byOrchestrator, 1);
  const { app } = byOrchestrator;
  const [payment] = await sql<{ wallet: string; amount: string }>(app, 'select wallet, amount::text from payments where id = $1', [id]);
  const now = Date.now();
  const report = (status: 'failed' | 'reversed', ms: number) => async (of: App) => {
    const timestamp = new Date(now + ms).toISOString();
    const body = { type: 'payment.status', timestamp, data: { paymentId: id, currency: 'usdc', ...payment, status } };
    const apply = await prepareReport(of, body, { delivery: { source: 'payment-status', id: 'a-delivery' }, at: timestamp });
    return await of.tx(apply);
  };
  const outcomes = await expectToWait(app, 'lock_reported_payment', report('reversed', 1), report('failed', 0));
  expect(outcomes).toMatchObject([{ value: { verdict: 'the payment is reversed' } }, { value: { verdict: 'ignored: a newer report exists' } }]);
});

test('one transaction cannot settle two payments of a wallet concurrently', async () => {
  const [first = '', second = ''] = await createPayments(t, 2);
  const signature = randomSignature();
  const settle = (id: string) => (app: App) =>
    app.tx(async (tx) => {
      const reason = await transferMismatch(tx, { id, amount: 1_000_000n }, signature, { verdict: 'paid', amount: 1_000_000n, at: null });
      if (reason === null) {
        await tx.query({ text: `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1` }, [id, signature]);
      }
      return reason;
    });
  const outcomes = await expectToWait(t.app, 'lock_payment_signature', settle(first), settle(second));
  expect(outcomes).toMatchObject([{ value: null }, { value: 'the transaction paid other payments of the wallet already' }]);
});

test('an operator who resumes payouts waits for an operator who pauses them', async () => {
  await expectToWait(
    t.app,
    'lock_payout_watch',
    (app) => pausePayouts(app, 'one', 'a test'),
    (app) => resumePayouts(app, 'another', [], []),
  );
  expect(await sql(t.app, `select 1 from chain_pauses where scope = 'payouts'`)).toEqual([]);
});

test('two runs that match the unmatched transactions of a lane run one after the other', async () => {
  await sql(
    t.app,
    `insert into payout_findings (signature, lane, address, slot, transfers, verdict) values ($1, 7, 'an-address', 1, '[]', 'unmatched')`,
    [randomSignature()],
  );
  await expectToWait(t.app, 'lock_unmatched_payout_findings', (app) => app.tx((tx) => matchTransactions(app, tx, { lane: 7 })));
});

test('batches of one currency are planned one after the other, and batches of two currencies concurrently', async () => {
  await expectToWait(t.app, 'lock_payout_planning', (app) => app.tx((tx) => tx.query(lockPlanning, ['usdc'])));
  const commit = await holdTransaction(t.app, (tx) => tx.query(lockPlanning, ['usdc']));
  await t.app.tx((tx) => tx.query(lockPlanning, ['reward']));
  await commit();
});

test('while a batch is planned, another worker finds neither its lane nor its payments', async () => {
  const ids = await createPayments(t, 3);
  await sql(t.app, `insert into payout_lanes (lane, address, authority, nonce, stale) values (9, 'an-account', 'a-key', 'a-nonce', false)`);
  const lane = [9, 'an-account', 'a-nonce'];
  const commit = await holdTransaction(t.app, async (tx) => {
    expect(await tx.query(lockLane, lane)).toEqual([{ lane: 9 }]);
    expect(await tx.query(lockCandidates, [ids.slice(0, 2)])).toHaveLength(2);
  });
  expect(await t.app.tx((tx) => tx.query(lockLane, lane))).toEqual([]);
  expect(await t.app.tx((tx) => tx.query(lockCandidates, [ids]))).toEqual([{ id: ids[2] }]);
  await commit();
  expect(await t.app.tx((tx) => tx.query(lockLane, lane))).toEqual([{ lane: 9 }]);
});

test('the nonce of a lane is stored only while its account and nonce are those that were read, no batch uses it, and the slot is not older', async () => {
  const read = [11, 'account-11', 'nonce-11'];
  await sql(t.app, `insert into payout_lanes (lane, address, authority, nonce, nonce_slot) values ($1, $2, 'a-key', $3, 5)`, read);
  await sql(t.app, `insert into payout_lanes (lane, address, authority, nonce, nonce_slot) values (12, 'account-12', 'a-key', 'nonce-11', 5)`);
  const settle = (lane: number, address: string, slot: number, nonce: string) =>
    t.app.tx((tx) => tx.query(settleLane, [lane, address, 'next', slot, null, 0, nonce]));
  expect(await settle(11, 'another-account', 5, 'nonce-11')).toEqual([]);
  expect(await settle(11, 'account-11', 4, 'nonce-11')).toEqual([]);
  expect(await settle(11, 'account-11', 5, 'another-nonce')).toEqual([]);
  expect(await settle(11, 'account-11', 5, 'nonce-11')).toEqual([{ lane: 11 }]);
  expect(await sql(t.app, `select lane::int, nonce from payout_lanes where lane in (11, 12) order by lane`)).toEqual([
    { lane: 11, nonce: 'next' },
    { lane: 12, nonce: 'nonce-11' },
  ]);
  const { id } = await storeBatch(t.app, await createPayments(t, 1), { lane: 12, address: 'account-12', nonce: 'nonce-11' });
  expect(await settle(12, 'account-12', 5, 'nonce-11')).toEqual([]);
  expect(await sql(t.app, 'select batch::text, nonce from payout_lanes where lane = 12')).toEqual([{ batch: id, nonce: 'nonce-11' }]);
});
