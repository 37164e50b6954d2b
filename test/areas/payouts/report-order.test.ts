import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { retryPayment } from '#areas/payouts/decisions.ts';
import { prepareReport } from '#areas/payouts/reports.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createAllPayments, eventsOf, paymentRequest, storedPayments } from '#test/support/areas/payouts.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { USDC_PAYER: 'orchestrator' } });
});
afterAll(() => t.close());

const NOW = Date.now();
/** The states of reports, from the one that yields to each other state to the one that yields to none. */
const STATES = ['pending', 'failed', 'completed', 'reversed'] as const;

async function createPayment() {
  const request = paymentRequest();
  const [created] = await createAllPayments(t, [request]);
  if (!created) throw new Error('no payment was created');
  /** Applies a report whose timestamp is `ms` after the start. @returns the verdict */
  const report = async (status: string, ms = 0, receivedAt = NOW, more = {}) => {
    const timestamp = new Date(NOW + ms).toISOString();
    const data = { paymentId: created.id, wallet: request.wallet, currency: 'usdc', amount: String(request.amount), status, ...more };
    const delivery = { source: 'payment-status', id: 'a-delivery' } as const;
    const apply = await prepareReport(t.app, { type: 'payment.status', timestamp, data }, { delivery, at: new Date(receivedAt).toISOString() });
    return (await t.app.tx(apply)).verdict;
  };
  return { ...created, report, state: async () => (await storedPayments(t, [created]))[0]?.state };
}

test('of two reports with equal timestamps, the one with the later state applies, in both orders', async () => {
  for (const [i, first] of STATES.entries()) {
    for (const [n, second] of STATES.entries()) {
      const payment = await createPayment();
      expect(await payment.report(first)).toBe(`the payment is ${first}`);
      const isLater = n > i;
      expect(await payment.report(second)).toBe(isLater ? `the payment is ${second}` : 'ignored: a report with the same timestamp exists');
      expect(await payment.state()).toBe(isLater ? second : first);
    }
  }
});

test('a repeated report of a payment that an operator retried does not fail the payment again, and a newer report does', async () => {
  const payment = await createPayment();
  await payment.report('failed');
  await retryPayment(t.app, payment.id);
  expect(await payment.report('failed')).toBe('ignored: a report with the same timestamp exists');
  expect(await payment.state()).toBe('pending');
  expect(await payment.report('failed', 1)).toBe('the payment is failed');
  expect((await eventsOf(t, payment)).map(({ type }) => type)).toEqual(['payout_failed', 'payout_failed']);
});

test('a newer report with the state that the payment has emits no event', async () => {
  const payment = await createPayment();
  await payment.report('failed');
  expect(await payment.report('failed', 1)).toBe('the payment is failed');
  expect((await eventsOf(t, payment)).length).toBe(1);
});

test('the timestamp of a report may lie at most five minutes after its receipt', async () => {
  const payment = await createPayment();
  expect(await payment.report('failed', 300_001)).toBe('timestamp must not lie in the future');
  expect(await payment.state()).toBe('pending');
  expect(await payment.report('failed', 300_000)).toBe('the payment is failed');
});

test('the signature in a report of a failed payment is not checked on the chain', async () => {
  const payment = await createPayment();
  expect(await payment.report('failed', 0, NOW, { transactionSignature: '1'.repeat(64) })).toBe('the payment is failed');
});
