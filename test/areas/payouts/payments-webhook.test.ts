import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getPayments, postRetry } from '#areas/payouts/routes/payments.ts';
import { pendingUsdc } from '#areas/payouts/routes/wallets.ts';
import { sweepWebhooks } from '#jobs/webhooks.ts';
import { statement } from '#platform/db/sql.ts';
import { transferChecked } from '#platform/solana/tokens.ts';
import { purgeDeliveries } from '#platform/webhooks/inbox.ts';
import {
  accountOf,
  balanceOf,
  createAllPayments,
  eventsOf,
  openAccounts,
  type PayoutsTest,
  paymentRequest,
  startPayoutsTest,
  storedPayments,
} from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf, clientOf } from '#test/support/http/client.ts';
import { createSecret, deliver, standardHeaders } from '#test/support/http/webhook.ts';

const SECRET = createSecret();
let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { USDC_PAYER: 'orchestrator', WEBHOOK_SECRET_PAYMENT_STATUS: SECRET } });
});
afterAll(() => t.close());

interface Report {
  id?: string;
  timestamp?: Date;
  status?: string;
  signature?: string;
  data?: Record<string, unknown>;
}
interface OrchestratorPayment {
  id: string;
  created: boolean;
  wallet: string;
  amount: bigint;
}

async function orchestratorPayment(amount = 1_000n): Promise<OrchestratorPayment> {
  const one = paymentRequest({ amount });
  const [owed] = await createAllPayments(t, [one]);
  if (!owed) throw new Error('no payment was created');
  return { ...owed, wallet: one.wallet, amount };
}

const later = (seconds: number) => new Date(t.clock.now().getTime() + seconds * 1_000);

async function report(
  payment: OrchestratorPayment,
  { id = randomUUID(), timestamp = later(0), status = 'completed', signature, data = {} }: Report = {},
) {
  const body = JSON.stringify({
    type: 'payment.status',
    timestamp: timestamp.toISOString(),
    data: {
      paymentId: payment.id,
      wallet: payment.wallet,
      amount: String(payment.amount),
      currency: 'usdc',
      status,
      ...(signature ? { transactionSignature: signature } : {}),
      ...data,
    },
  });
  const response = await deliver(t, 'payment-status', standardHeaders(SECRET, id, Math.floor(t.clock.now().getTime() / 1_000), body), body);
  return { id, status: response.status, body: await response.json() };
}

interface Row {
  state: string;
  verdict: string | null;
  attempts: number;
}
const selectDelivery = statement<Row>(
  'test_delivery',
  `select state, verdict, attempts from webhook_deliveries where source = 'payment-status' and id = $1`,
);
async function verdictOn(id: string): Promise<Row> {
  let row: Row | undefined;
  await retryUntilPass(async () => {
    row = (await t.app.db.query(selectDelivery, [id]))[0];
    expect(row?.state).not.toBe('received');
  });
  if (!row) throw new Error('the delivery does not exist');
  return row;
}
/** Sends a report and waits until it is processed. */
async function reported(payment: OrchestratorPayment, given?: Report): Promise<Row> {
  const answer = await report(payment, given);
  expect([answer.status, answer.body]).toEqual([200, { received: true }]);
  return await verdictOn(answer.id);
}
const stateOf = async (payment: OrchestratorPayment) => (await storedPayments(t, [payment]))[0]?.state;

/** Pays a wallet from another wallet. @returns the signature, by default after it is finalized */
async function pay(wallet: string, amount: bigint, { final = true } = {}): Promise<string> {
  const payer = await t.chain.fundWallet({ lamports: 1_000_000_000, usdc: amount });
  const mint = t.chain.keys.usdcMint.publicKey;
  await openAccounts(t, [wallet]);
  const [owner, from, to] = [payer.publicKey, accountOf(t, payer.publicKey.toBase58()), accountOf(t, wallet)];
  const signature = await t.chain.send([transferChecked({ from, to, owner, mint, decimals: 6, amount })], [payer]);
  const standing = async () => (await t.chain.connection.getSignatureStatus(signature)).value?.confirmationStatus;
  if (final) await retryUntilPass(async () => expect(await standing()).toBe('finalized'));
  return signature;
}

test('a payment of the orchestrator has no lane and is listed by payer', async () => {
  const payment = await orchestratorPayment();
  const { body } = await adminOf(t).ok(getPayments, { query: { payer: 'orchestrator', status: 'pending', wallet: payment.wallet } });
  expect(body).toMatchObject([{ id: payment.id, payer: 'orchestrator', status: 'pending', amount: '1000' }]);
  expect((await storedPayments(t, [payment]))[0]?.lane).toBeNull();
  expect((await clientOf(t).ok(pendingUsdc, { params: { wallet: payment.wallet } })).body.amount).toBe('1000');
});

test('a report completes a payment and emits one event, and a repeated delivery has no effect', async () => {
  const payment = await orchestratorPayment();
  const id = randomUUID();
  const timestamp = later(0);
  expect(await reported(payment, { id, timestamp })).toMatchObject({ state: 'worked', verdict: 'the payment is completed', attempts: 1 });
  expect(await stateOf(payment)).toBe('completed');
  expect((await eventsOf(t, payment)).map(({ type, wallet }) => [type, wallet])).toEqual([['payout_confirmed', payment.wallet]]);
  expect((await report(payment, { id, timestamp })).status).toBe(200);
  expect((await report(payment, { id, timestamp, status: 'reversed' })).status).toBe(409);
  expect((await eventsOf(t, payment)).length).toBe(1);
  expect((await clientOf(t).ok(pendingUsdc, { params: { wallet: payment.wallet } })).body.amount).toBe('0');
});

test('an older report never overrides a newer one, and a completed payment can only become reversed', async () => {
  const payment = await orchestratorPayment();
  const start = later(-60).getTime();
  const at = (seconds: number) => new Date(start + seconds * 1_000);
  expect(await reported(payment, { status: 'failed', timestamp: at(20) })).toMatchObject({ verdict: 'the payment is failed' });
  expect(await reported(payment, { status: 'completed', timestamp: at(10) })).toMatchObject({ verdict: 'ignored: a newer report exists' });
  expect(await reported(payment, { status: 'pending', timestamp: at(20) })).toMatchObject({
    verdict: 'ignored: a report with the same timestamp exists',
  });
  expect(await stateOf(payment)).toBe('failed');
  expect(await reported(payment, { status: 'completed', timestamp: at(20) })).toMatchObject({ verdict: 'the payment is completed' });
  for (const status of ['pending', 'failed', 'completed']) {
    expect(await reported(payment, { status, timestamp: at(30) })).toMatchObject({ verdict: 'ignored: the payment is completed' });
  }
  expect(await reported(payment, { status: 'reversed', timestamp: at(15) })).toMatchObject({ verdict: 'ignored: a newer report exists' });
  expect(await reported(payment, { status: 'reversed', timestamp: at(40) })).toMatchObject({ verdict: 'the payment is reversed' });
  expect(await stateOf(payment)).toBe('reversed');
  expect((await eventsOf(t, payment)).map(({ type }) => type)).toEqual(['payout_failed', 'payout_confirmed', 'payout_failed']);
});

test('a failed payment counts as pending USDC and can be retried', async () => {
  const payment = await orchestratorPayment();
  await reported(payment, { status: 'failed' });
  expect((await clientOf(t).ok(pendingUsdc, { params: { wallet: payment.wallet } })).body.amount).toBe('1000');
  expect((await adminOf(t).ok(postRetry, { params: { id: payment.id } })).body.status).toBe('pending');
});

test('a report for another payer or with another wallet, amount or currency is rejected', async () => {
  const payment = await orchestratorPayment();
  const stranger = paymentRequest();
  const cases: [Record<string, unknown>, string][] = [
    [{ wallet: stranger.wallet }, 'wallet must be that of the payment'],
    [{ amount: '1001' }, 'amount must be that of the payment'],
    [{ currency: 'reward' }, 'currency must be that of the payment'],
    [{ paymentId: randomUUID() }, 'the payment does not exist'],
  ];
  for (const [data, verdict] of cases) expect(await reported(payment, { data })).toMatchObject({ state: 'failed', verdict });
  const [treasurys] = await createAllPayments(t, [paymentRequest({ currency: 'reward', wallet: payment.wallet })]);
  const data = { paymentId: treasurys?.id, currency: 'reward', amount: '1000000' };
  expect(await reported(payment, { data })).toMatchObject({ state: 'failed', verdict: 'the treasury, not the orchestrator, makes this payment' });
  expect(await reported(payment, { timestamp: later(3_600) })).toMatchObject({ state: 'failed', verdict: 'timestamp must not lie in the future' });
  expect(await stateOf(payment)).toBe('pending');
});

test('the signature of a completed payment is checked on the chain after the transaction is finalized', async () => {
  const [payment, other] = [await orchestratorPayment(5_000n), await orchestratorPayment(5_000n)];
  const signature = await pay(payment.wallet, 5_000n, { final: false });
  expect(await reported(payment, { signature })).toMatchObject({ state: 'worked', verdict: 'the payment is completed' });
  expect((await storedPayments(t, [payment]))[0]?.signature).toBe(signature);
  expect(await balanceOf(t, payment.wallet)).toBe(5_000n);
  expect(await reported(other, { signature })).toMatchObject({ state: 'failed', verdict: 'the transaction does not pay the wallet' });
  const less = await orchestratorPayment(5_001n);
  expect(await reported(less, { signature: await pay(less.wallet, 5_000n) })).toMatchObject({
    state: 'failed',
    verdict: 'the transaction paid the wallet less than the amount of the payment',
  });
  expect([await stateOf(other), await stateOf(less)]).toEqual(['pending', 'pending']);
});

test('one transaction completes only one of two payments with the same wallet and amount', async () => {
  const payment = await orchestratorPayment(700n);
  const [again] = await createAllPayments(t, [paymentRequest({ wallet: payment.wallet, amount: 700n })]);
  if (!again) throw new Error('no payment was created');
  const signature = await pay(payment.wallet, 700n);
  await reported(payment, { signature });
  expect(await reported({ ...payment, id: again.id }, { signature })).toMatchObject({
    state: 'failed',
    verdict: 'the transaction paid other payments of the wallet already',
  });
});

test('a report with an unknown signature is retried, and fails after the maximum number of attempts', async () => {
  const payment = await orchestratorPayment();
  const { id } = await report(payment, { signature: '1'.repeat(64), timestamp: later(-2 * 86_400) });
  await retryUntilPass(async () => {
    const [row] = await t.app.db.query(selectDelivery, [id]);
    expect(row).toMatchObject({ state: 'received', verdict: 'the chain does not know the transaction' });
    expect(row?.attempts).toBeGreaterThanOrEqual(2);
  });
  await t.app.tx((tx) =>
    tx.query({ text: `update webhook_deliveries set attempts = 15, received_at = received_at - interval '1 day' where id = $1` }, [id]),
  );
  await t.app.tx(async (tx) => tx.enqueue(sweepWebhooks, {}));
  expect(await verdictOn(id)).toMatchObject({ state: 'failed', verdict: 'failed after 16 attempts: the chain does not know the transaction' });
  expect(await stateOf(payment)).toBe('pending');
});

test('a report stays received while the RPC node does not answer, and is processed afterwards', async () => {
  const payment = await orchestratorPayment();
  const signature = await pay(payment.wallet, 1_000n);
  const failing = await t.chain.control.fault({ kind: 'fail' });
  const { id } = await report(payment, { signature });
  await retryUntilPass(async () => expect((await t.app.db.query(selectDelivery, [id]))[0]?.verdict).toContain('the RPC node does not answer'));
  await failing.clear();
  expect(await verdictOn(id)).toMatchObject({ state: 'worked', verdict: 'the payment is completed' });
});

test('the sweep processes a stored delivery whose job was lost', async () => {
  const payment = await orchestratorPayment();
  const body = JSON.stringify({
    type: 'payment.status',
    timestamp: later(0).toISOString(),
    data: { paymentId: payment.id, wallet: payment.wallet, amount: '1000', currency: 'usdc', status: 'completed' },
  });
  const id = randomUUID();
  await t.app.tx((tx) =>
    tx.query({ text: `insert into webhook_deliveries (source, id, body_hash, body) values ('payment-status', $1, $2, $3)` }, [
      id,
      Buffer.alloc(32),
      Buffer.from(body),
    ]),
  );
  expect(await verdictOn(id)).toMatchObject({ state: 'worked' });
});

test('a malformed report is stored and acknowledged, and its verdict names the field', async () => {
  const payment = await orchestratorPayment();
  const cases: [Record<string, unknown>, string][] = [
    [{ paymentId: 'x' }, 'data.paymentId must be a UUID in lower case'],
    [{ amount: 1000 }, 'data.amount must be a whole number of base units, as text, from 1 to 18446744073709551615'],
    [{ status: 'lost' }, 'data.status must be one of pending, completed, failed, reversed'],
    [{ transactionSignature: 'x' }, 'data.transactionSignature must be the signature of a transaction (base58 of 64 bytes)'],
    [{ wallet: 'x' }, 'data.wallet must be a wallet address (base58 of 32 bytes)'],
  ];
  for (const [data, verdict] of cases) expect(await reported(payment, { data })).toEqual({ state: 'failed', verdict, attempts: 1 });
  expect(await stateOf(payment)).toBe('pending');
  const unsigned = await deliver(t, 'payment-status', {}, '{}');
  expect(unsigned.status).toBe(401);
});

test('a processed delivery is deleted after thirty days', async () => {
  const payment = await orchestratorPayment();
  const { id } = await report(payment);
  await verdictOn(id);
  const age = (days: number) =>
    t.app.tx((tx) =>
      tx.query({ text: `update webhook_deliveries set received_at = app_now() - make_interval(days => $2) where id = $1` }, [id, days]),
    );
  await age(29);
  await t.app.tx((tx) => purgeDeliveries(tx, 'payment-status'));
  expect((await t.app.db.query(selectDelivery, [id])).length).toBe(1);
  await age(31);
  await t.app.tx((tx) => purgeDeliveries(tx, 'payment-status'));
  expect((await t.app.db.query(selectDelivery, [id])).length).toBe(0);
});
