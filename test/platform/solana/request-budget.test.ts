import { expect, test } from '@jest/globals';
import { RequestBudget } from '#platform/solana/request-budget.ts';

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

test('a request is sent at once while the budget is free', async () => {
  const budget = new RequestBudget(10);
  const granted: string[] = [];
  const first = budget.take('getSlot').then(() => void granted.push('first'));
  const second = budget.take('getSlot').then(() => void granted.push('second'));
  // Requests that wait for the budget are granted by a timer, so later.
  await new Promise((resolve) => setImmediate(resolve));
  expect(granted).toEqual(['first']);
  await Promise.all([first, second]);
});

test('when 10,000 requests of a rank wait, a further one fails at once, and one of another rank waits', async () => {
  const budget = new RequestBudget(2, { patienceMs: 1 });
  const settled: string[] = [];
  const take = (method: string, name: string) => budget.take(method).catch(() => void settled.push(name));
  const waiting = Array.from({ length: 10_001 }, () => take('getSlot', 'a waiting one'));
  const others = [take('getSlot', 'the further one'), take('getBlock', 'the one of another rank')];
  await new Promise((resolve) => setImmediate(resolve));
  expect(settled).toEqual(['the further one']);
  await Promise.all([...waiting, ...others]);
});
