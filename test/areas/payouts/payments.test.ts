import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { paymentId } from '#areas/payouts';
import { getPayouts, getTransactions, postPause, postResume } from '#areas/payouts/routes/operations.ts';
import { getPayment, getPayments, postPayment, postResolve, postRetry } from '#areas/payouts/routes/payments.ts';
import { myPayments, pendingUsdc } from '#areas/payouts/routes/wallets.ts';
import { statement } from '#platform/db/sql.ts';
import { transferChecked } from '#platform/solana/tokens.ts';
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
  untilPaid,
} from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asOwner } from '#test/support/database.ts';
import { adminOf, clientOf } from '#test/support/http/client.ts';
import { createWallet, signIn } from '#test/support/wallet.ts';

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest();
});
afterAll(() => t.close());

const insertFailed = statement(
  'test_insert_failed_transaction',
  `insert into chain_transactions (kind, subject, state, error) values ('payout-batch', $1, $2, '{"name":"Unclear","message":"a test","instruction":null,"code":null}')`,
);
const setState = statement('test_set_payment_state', `update payments set state = $2, reason = 'a test' where id = $1`);

/** Creates a payment and waits until it is in the state `manual`. */
async function manualPayment(wallet = createWallet().address, amount = 1_000_000n) {
  await openAccounts(t, [wallet]);
  await t.chain.control.freeze(accountOf(t, wallet).toBase58());
  const [owed] = await createAllPayments(t, [paymentRequest({ wallet, amount })]);
  if (!owed) throw new Error('no payment was created');
  await untilPaid(t, [owed], 'manual');
  await t.chain.control.freeze(accountOf(t, wallet).toBase58(), false);
  return { ...owed, wallet, amount };
}

/** Pays a wallet from another wallet, as an operator would by hand. */
async function payByHand(wallet: string, amount: bigint): Promise<string> {
  const payer = await t.chain.fundWallet({ lamports: 1_000_000_000, usdc: amount });
  const mint = t.chain.keys.usdcMint.publicKey;
  const to = accountOf(t, wallet);
  const owner = payer.publicKey;
  const from = accountOf(t, owner.toBase58());
  const signature = await t.chain.send([transferChecked({ from, to, owner, mint, decimals: 6, amount })], [payer]);
  await retryUntilPass(async () => expect((await t.chain.connection.getSignatureStatus(signature)).value?.confirmationStatus).toBe('finalized'));
  return signature;
}

test('GET /api/me/payments lists the payments of the wallet, newest first, in pages', async () => {
  const player = await signIn(t);
  const client = clientOf(t, player);
  expect((await client.ok(myPayments)).body).toEqual([]);
  const first = await createAllPayments(t, [paymentRequest({ wallet: player.wallet, amount: 5n })]);
  await untilPaid(t, first);
  const second = await createAllPayments(t, [paymentRequest({ wallet: player.wallet, amount: 7n, currency: 'reward' }), paymentRequest()]);
  await untilPaid(t, second);
  const { body, headers } = await client.ok(myPayments);
  expect(body.map(({ id }) => id)).toEqual([second[0]?.id, first[0]?.id]);
  expect(body[1]).toEqual({
    id: first[0]?.id,
    wallet: player.wallet,
    currency: 'usdc',
    amount: '5',
    cause: { kind: 'test', id: expect.any(String) },
    payer: 'treasury',
    status: 'completed',
    signature: expect.any(String),
    reason: null,
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    updatedAt: expect.any(String),
    completedAt: expect.any(String),
  });
  expect(headers.get('X-Total-Count')).toBe('2');
  expect((await client.ok(myPayments, { query: { limit: 1, offset: 1 } })).body.map(({ id }) => id)).toEqual([first[0]?.id]);
  expect((await clientOf(t).call(myPayments)).status).toBe(401);
});

test('pending-usdc is the sum of the wallet’s USDC payments that are not completed', async () => {
  const { address } = createWallet();
  const pending = async () => (await clientOf(t).ok(pendingUsdc, { params: { wallet: address } })).body;
  expect(await pending()).toEqual({ wallet: address, currency: 'usdc', amount: '0', payments: 0 });
  await adminOf(t).ok(postPause, { body: { reason: 'counting' } });
  const owed = await createAllPayments(t, [
    paymentRequest({ wallet: address, amount: 18_000_000_000_000_000_000n }),
    paymentRequest({ wallet: address, amount: 18_000_000_000_000_000_000n }),
    paymentRequest({ wallet: address, amount: 5n, currency: 'reward' }),
  ]);
  expect(await pending()).toEqual({ wallet: address, currency: 'usdc', amount: '36000000000000000000', payments: 2 });
  const other = createWallet().address;
  const small = await createAllPayments(t, [paymentRequest({ wallet: other })]);
  await adminOf(t).ok(postResume);
  await untilPaid(t, small);
  expect((await clientOf(t).ok(pendingUsdc, { params: { wallet: other } })).body.amount).toBe('0');
  // The amounts exceed the treasury balance, so the payments stay pending.
  expect((await storedPayments(t, owed)).map(({ state }) => state).slice(0, 2)).toEqual(['pending', 'pending']);
  expect((await clientOf(t).call(pendingUsdc, { params: { wallet: 'nobody' } })).status).toBe(404);
});

test('an operator creates one payment per reference, and other terms for the same reference are refused', async () => {
  const admin = adminOf(t);
  const body = { wallet: createWallet().address, currency: 'usdc', amount: '1234567', reference: `ticket-${randomUUID()}` } as const;
  const first = await admin.call(postPayment, { body });
  expect([first.status, first.body]).toMatchObject([201, { amount: '1234567', status: 'pending', cause: { kind: 'by-hand', id: body.reference } }]);
  const again = await admin.ok(postPayment, { body });
  expect([again.status, again.body.id]).toEqual([200, paymentId({ kind: 'by-hand', id: body.reference })]);
  for (const other of [{ amount: '1' }, { wallet: createWallet().address }, { currency: 'reward' as const }]) {
    expect((await admin.call(postPayment, { body: { ...body, ...other } })).status).toBe(409);
  }
  await untilPaid(t, [{ id: again.body.id, created: true }]);
  expect(await balanceOf(t, body.wallet)).toBe(1_234_567n);
  expect((await admin.ok(getPayment, { params: { id: again.body.id } })).body.status).toBe('completed');
  expect((await admin.call(getPayment, { params: { id: randomUUID() } })).status).toBe(404);
});

test('fifty concurrent requests for one reference create one payment', async () => {
  const admin = adminOf(t);
  const body = { wallet: createWallet().address, currency: 'usdc', amount: '500', reference: `ticket-${randomUUID()}` } as const;
  const answers = await Promise.all(Array.from({ length: 50 }, () => admin.ok(postPayment, { body })));
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
  expect(answers.filter(({ status }) => status === 201).length).toBe(1);
  await untilPaid(t, [{ id: answers[0]?.body.id ?? '', created: true }]);
  expect(await balanceOf(t, body.wallet)).toBe(500n);
});

test.each([
  [{ amount: '0' }, 'amount must be a whole number of base units, as text, from 1 to 18446744073709551615'],
  [{ amount: '18446744073709551616' }, 'amount must be a whole number of base units, as text, from 1 to 18446744073709551615'],
  [{ amount: '1.5' }, 'amount must be a whole number of base units, as text, from 1 to 18446744073709551615'],
  [{ amount: 1 }, 'amount must be a whole number of base units, as text, from 1 to 18446744073709551615'],
  [{ currency: 'sol' }, 'currency must be usdc or reward'],
  [{ reference: 'with a space' }, 'reference must be 1 to 128 printable characters without spaces'],
  [{ reference: '' }, 'reference must be 1 to 128 printable characters without spaces'],
  [{ wallet: 'nobody' }, 'wallet must be a wallet address (base58 of 32 bytes)'],
])('a payment request with an invalid field is refused: %j', async (wrong, error) => {
  const body = { wallet: createWallet().address, currency: 'usdc' as const, amount: '5', reference: 'ticket', ...wrong } as never;
  const answer = await adminOf(t).call(postPayment, { body });
  expect([answer.status, answer.body]).toEqual([400, { error }]);
});

test('operators list payments by payer, status, currency and wallet', async () => {
  const admin = adminOf(t);
  const { address } = createWallet();
  const owed = await createAllPayments(t, [paymentRequest({ wallet: address }), paymentRequest({ wallet: address, currency: 'reward' })]);
  await untilPaid(t, owed);
  const { body, headers } = await admin.ok(getPayments, { query: { wallet: address, payer: 'treasury', status: 'completed', currency: 'reward' } });
  expect(body.map(({ id }) => id)).toEqual([owed[1]?.id]);
  expect(headers.get('X-Total-Count')).toBe('1');
  expect((await admin.ok(getPayments, { query: { wallet: address, status: 'manual' } })).body).toEqual([]);
  expect((await admin.call(getPayments, { query: { status: 'lost' as never } })).status).toBe(400);
  expect((await adminOf(t, 'wrong-token-0123456789').call(getPayments)).status).toBe(403);
});

test('a manual payment can be retried, and a completed payment cannot', async () => {
  const admin = adminOf(t);
  const manual = await manualPayment();
  expect((await admin.ok(postRetry, { params: { id: manual.id } })).body.status).toBe('pending');
  await untilPaid(t, [manual]);
  const done = await admin.call(postRetry, { params: { id: manual.id } });
  expect([done.status, done.body]).toEqual([409, { error: 'the payment is completed; only a manual or failed payment can be retried' }]);
  expect((await admin.call(postRetry, { params: { id: randomUUID() } })).status).toBe(404);
  expect(await balanceOf(t, manual.wallet)).toBe(manual.amount);
});

test('a payment made by hand is completed with its transaction, and the same transaction completes no other payment', async () => {
  const admin = adminOf(t);
  const { address } = createWallet();
  const [first, second] = [await manualPayment(address, 300n), await manualPayment(address, 300n)];
  const signature = await payByHand(address, 500n);
  const resolve = (id: string, by: string) => admin.call(postResolve, { params: { id }, body: { signature: by } });
  const unknown = await resolve(first.id, '1'.repeat(64));
  expect([unknown.status, unknown.body]).toEqual([
    409,
    { error: 'signature must name a transaction that paid this payment: the chain does not know the transaction' },
  ]);
  const closed = await resolve(first.id, signature);
  expect([closed.status, closed.body]).toMatchObject([200, { status: 'completed', signature }]);
  expect((await resolve(first.id, signature)).status).toBe(200);
  expect((await eventsOf(t, { id: first.id, created: false })).map(({ type }) => type)).toEqual(['payout_failed', 'payout_confirmed']);
  const twice = await resolve(second.id, signature);
  expect([twice.status, twice.body]).toEqual([
    409,
    { error: 'signature must name a transaction that paid this payment: the transaction paid other payments of the wallet already' },
  ]);
  const stranger = await manualPayment();
  const other = await resolve(stranger.id, signature);
  expect(other.body).toEqual({ error: 'signature must name a transaction that paid this payment: the transaction does not pay the wallet' });
  expect((await resolve(stranger.id, 'no signature')).status).toBe(400);
  await admin.ok(postRetry, { params: { id: second.id } });
  await untilPaid(t, [second]);
  const late = await resolve(second.id, await payByHand(address, 300n));
  expect(late.status).toBe(409);
});

test('payouts that an operator paused stay paused until an operator resumes them', async () => {
  const admin = adminOf(t);
  const paused = await admin.ok(postPause, { body: { reason: 'rotating a key' } });
  expect(paused.body).toMatchObject({ paused: 'rotating a key', held: 'rotating a key', doubt: null });
  const owed = await createAllPayments(t, [paymentRequest()]);
  const rounds = await t.chain.control.status();
  await t.chain.control.finalized(rounds.slot + 30);
  expect((await storedPayments(t, owed)).map(({ state }) => state)).toEqual(['pending']);
  expect((await admin.ok(getPayouts)).body.counts.pending).toBeGreaterThanOrEqual(1);
  expect((await admin.ok(postResume)).body).toMatchObject({ paused: null, held: null });
  await untilPaid(t, owed);
});

test('GET /admin/transactions lists transactions in the state manual with the reason', async () => {
  const subject = randomUUID();
  await t.app.tx((tx) => tx.query(insertFailed, [subject, 'manual']));
  const { body, headers } = await adminOf(t).ok(getTransactions, { query: { state: 'manual' } });
  expect(body.find((row) => row.subject === subject)).toMatchObject({
    kind: 'payout-batch',
    state: 'manual',
    attempts: 0,
    signature: null,
    error: { name: 'Unclear', message: 'a test' },
    evidence: null,
  });
  expect(Number(headers.get('X-Total-Count'))).toBe(body.length);
  expect((await adminOf(t).ok(getTransactions, { query: { state: 'failed' } })).body.find((row) => row.subject === subject)).toBeUndefined();
});

test('the database refuses to change the terms of a payment, to reopen a completed payment, and to delete a payment', async () => {
  const [owed] = await createAllPayments(t, [paymentRequest()]);
  if (!owed) throw new Error('no payment was created');
  await untilPaid(t, [owed]);
  const attempt = (text: string) => asOwner(t.app, (tx) => tx.query({ text }, [owed.id]));
  for (const change of [
    "wallet = 'x'",
    'amount = amount + 1',
    "currency = 'reward'",
    "cause_id = 'other'",
    "payer = 'orchestrator'",
    'lane = lane + 1',
  ]) {
    await expect(attempt(`update payments set ${change} where id = $1`)).rejects.toThrow('never changes');
  }
  await expect(attempt(`update payments set state = 'pending' where id = $1`)).rejects.toThrow('is completed');
  await expect(attempt('delete from payments where id = $1')).rejects.toThrow('append-only');
  await expect(t.app.tx((tx) => tx.query(setState, [owed.id, 'manual']))).rejects.toThrow('is completed');
});
