import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RequestBudget } from '#platform/solana/request-budget.ts';
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

/** Takes the budget for the methods in this order. @returns the methods and the times at which they were granted, ms, in the order of the grants */
async function takeAll(budget: RequestBudget, methods: readonly string[]): Promise<{ method: string; at: number }[]> {
  const granted: { method: string; at: number }[] = [];
  const began = performance.now();
  await Promise.all(methods.map((method) => budget.take(method).then(() => void granted.push({ method, at: performance.now() - began }))));
  return granted;
}

test('no second contains more requests than the budget', async () => {
  const granted = await takeAll(
    new RequestBudget(50),
    Array.from({ length: 120 }, () => 'getSlot'),
  );
  const times = granted.map(({ at }) => at);
  expect(Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length))).toBeLessThanOrEqual(50);
  expect(times.at(-1)).toBeLessThan(3_500);
});

test('sending and statuses come before other requests, histories come last, and yet a tenth of the budget goes to the request that waits the longest', async () => {
  const methods = [
    ...Array.from({ length: 30 }, () => 'getSignaturesForAddress'),
    ...Array.from({ length: 20 }, () => 'getMultipleAccounts'),
    ...Array.from({ length: 20 }, () => 'sendTransaction'),
    ...Array.from({ length: 20 }, () => 'getSignatureStatuses'),
  ];
  const granted = (await takeAll(new RequestBudget(100), methods)).map(({ method }) => method);
  // The first requests use the free budget. At most every tenth one of the following is not the most urgent one.
  const rest = granted.slice(10);
  expect(rest.slice(0, 45).filter((method) => method === 'sendTransaction' || method === 'getSignatureStatuses')).toHaveLength(40);
  expect(rest.slice(0, 40).filter((method) => method === 'getSignaturesForAddress').length).toBeGreaterThanOrEqual(3);
  expect(rest.lastIndexOf('getMultipleAccounts')).toBeLessThan(rest.lastIndexOf('getSignaturesForAddress'));
  expect(rest.slice(-8)).toEqual(Array.from({ length: 8 }, () => 'getSignaturesForAddress'));
});

test('a request that waits too long for the budget fails, and later requests are served', async () => {
  const budget = new RequestBudget(10, { patienceMs: 300 });
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => budget.take('getBlock')));
  const failed = results.filter(({ status }) => status === 'rejected');
  expect(failed.length).toBeGreaterThan(12);
  expect(failed[0]).toMatchObject({ reason: { message: expect.stringContaining('budget') } });
  await budget.take('getBlock');
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
