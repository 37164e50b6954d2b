import { expect, test } from '@jest/globals';
import { percentile, ranksOfPage, standing } from '#lib/ranking.ts';

test('ties share a rank and the next rank is skipped', () => {
  expect(ranksOfPage([9, 7, 7, 7, 3], 1, 0)).toEqual([1, 2, 2, 2, 5]);
  expect(ranksOfPage([], 1, 0)).toEqual([]);
});

test('a page that begins with a tied score keeps the rank of the tie', () => {
  const values = [9, 7, 7, 7, 3, 3, 1];
  const whole = ranksOfPage(values, 1, 0);
  for (let offset = 0; offset < values.length; offset++) {
    expect(ranksOfPage(values.slice(offset), whole[offset] ?? 0, offset)).toEqual(whole.slice(offset));
  }
});

test('the best wallet has percentile 100, and the last of n has 100/n', () => {
  expect(percentile(1, 1)).toBe(100);
  expect(percentile(1, 3)).toBe(100);
  expect(percentile(2, 3)).toBe(66.67);
  expect(percentile(3, 3)).toBe(33.33);
  expect(percentile(1_000_000, 1_000_000)).toBe(0);
});

test('a wallet that is not listed has neither rank nor percentile', () => {
  expect(standing(null, 0, 10)).toEqual({ rank: null, score: 0, percentile: null });
  expect(standing(4, 12, 8)).toEqual({ rank: 4, score: 12, percentile: 62.5 });
});
