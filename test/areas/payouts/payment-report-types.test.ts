import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAllPayments, type PayoutsTest, paymentRequest, startPayoutsTest, storedPayments } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { createSecret, deliver, standardHeaders } from '#test/support/http/webhook.ts';

const SECRET = createSecret();
let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { USDC_PAYER: 'orchestrator', WEBHOOK_SECRET_PAYMENT_STATUS: SECRET } });
});
afterAll(() => t.close());

/** Creates a payment of the orchestrator. `report` returns the body of a report about it; `state` reads the state of the payment. */
async function orchestratorPayment() {
  const one = paymentRequest({ amount: 1_000n });
  const [payment] = await createAllPayments(t, [one]);
  if (!payment) throw new Error('no payment was created');
  return {
    report: (type: string, status: string, seconds = 0) => ({
      type,
      timestamp: new Date(t.clock.now().getTime() + seconds * 1_000).toISOString(),
      data: { paymentId: payment.id, wallet: one.wallet, amount: '1000', currency: 'usdc', status },
    }),
    state: async () => (await storedPayments(t, [payment]))[0]?.state,
  };
}

/** Sends a delivery with any body, and waits until it is processed. Returns the state and the verdict of the delivery. */
async function deliverAndWait(body: unknown): Promise<unknown> {
  const id = randomUUID();
  const text = JSON.stringify(body);
  const answer = await deliver(t, 'payment-status', standardHeaders(SECRET, id, Math.floor(t.clock.now().getTime() / 1_000), text), text);
  expect([answer.status, await answer.json()]).toEqual([200, { received: true }]);
  let row: unknown;
  await retryUntilPass(async () => {
    [row] = await t.app.db.query({ text: `select state, verdict from webhook_deliveries where id = $1 and state <> 'received'` }, [id]);
    expect(row).toBeDefined();
  });
  return row;
}

test('a delivery of an unknown type is acknowledged, has no effect, and its verdict says so', async () => {
  const payment = await orchestratorPayment();
  const ignored = (type: string) => ({ state: 'worked', verdict: `ignored: the type "${type}" is unknown` });
  for (const type of ['payment.refunded', 'account.updated', 'toString', ''])
    expect(await deliverAndWait(payment.report(type, 'completed'))).toEqual(ignored(type));
  expect(await deliverAndWait({ type: 'ping' })).toEqual(ignored('ping'));
  expect(await deliverAndWait({ type: 'x'.repeat(2_000) })).toEqual(ignored('x'.repeat(100)));
  expect(await deliverAndWait({ type: 7 })).toEqual({ state: 'failed', verdict: 'type must be text' });
  expect(await deliverAndWait({})).toEqual({ state: 'failed', verdict: 'type is required and must be text' });
  expect(await payment.state()).toBe('pending');
});

test('a type that names a status must agree with the status of the report', async () => {
  const { report, state } = await orchestratorPayment();
  const differs = { state: 'failed', verdict: 'type must agree with data.status' };
  const applied = (status: string) => ({ state: 'worked', verdict: `the payment is ${status}` });
  expect(await deliverAndWait(report('payment.completed', 'failed', -9))).toEqual(differs);
  expect(await deliverAndWait(report('payment.failed', 'completed', -8))).toEqual(differs);
  expect(await state()).toBe('pending');
  expect(await deliverAndWait(report('payment.failed', 'failed', -7))).toEqual(applied('failed'));
  expect(await deliverAndWait(report('payment.completed', 'completed', -6))).toEqual(applied('completed'));
  expect(await deliverAndWait(report('payment.reversed', 'reversed', -5))).toEqual(applied('reversed'));
});
