import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { newPayment, receivedLamports, runUntil, submitPayments, transferType } from '#test/support/solana/submission.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  // A blockhash is valid for 7.5 s, which is longer than the service pauses after a 429.
  chain = await startTestChain({ slotMs: 50 });
  t = await startTestApp({ workers: false, env: { ...chain.env, SOLANA_RPC_PER_SECOND: '80' } });
}, 30_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

test('a provider that limits the rate refuses no request of a service whose budget is below the limit', async () => {
  await chain.control.limit(100);
  await chain.control.limit(100, { node: 'second' });
  const type = transferType('within the budget');
  const payments = Array.from({ length: 12 }, () => newPayment());
  await submitPayments(t.app, type, payments);
  await runUntil(t.app, type, payments, ['finalized'], 30_000);
  expect((await chain.control.status()).refused).toEqual({ first: 0, second: 0 });
  await chain.control.clear();
  for (const payment of payments) expect(await receivedLamports(t.app, payment)).toBe(2_000_000);
}, 60_000);

test('payments are exact while the provider allows less than the budget and refuses requests', async () => {
  await chain.control.limit(20, { credits: { sendTransaction: 5 } });
  const type = transferType('over the limit');
  const payments = Array.from({ length: 6 }, () => newPayment());
  await submitPayments(t.app, type, payments);
  await runUntil(t.app, type, payments, ['finalized'], 30_000);
  expect((await chain.control.status()).refused.first).toBeGreaterThan(0);
  await chain.control.clear();
  for (const payment of payments) expect(await receivedLamports(t.app, payment)).toBe(2_000_000);
}, 60_000);
