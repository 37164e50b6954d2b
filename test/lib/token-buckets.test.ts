import { expect, test } from '@jest/globals';
import { tokenBuckets } from '#lib/token-buckets.ts';

test('a caller takes all tokens of its bucket at once, and then one token per interval', () => {
  const take = tokenBuckets({ burst: 3, windowMs: 300 });
  expect([take('a', 0), take('a', 0), take('a', 0), take('a', 0)]).toEqual([0, 0, 0, 100]);
  expect([take('a', 60), take('a', 100), take('a', 100)]).toEqual([40, 0, 100]);
  expect(take('b', 100)).toBe(0);
  expect([take('a', 1_000), take('a', 1_000), take('a', 1_000), take('a', 1_000)]).toEqual([0, 0, 0, 100]);
});

test('above the maximum, the caller that was idle for the longest time is forgotten', () => {
  const take = tokenBuckets({ burst: 1, windowMs: 1_000 }, 2);
  expect([take('a', 0), take('b', 0), take('a', 1_000), take('c', 1_000)]).toEqual([0, 0, 0, 0]);
  expect([take('a', 1_000), take('b', 1_000)]).toEqual([1_000, 0]);
});
