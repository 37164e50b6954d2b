import { expect, test } from '@jest/globals';
import { Normalization, normalize, SCALE } from '#lib/normalization.ts';

const linear = (min: number, max: number, direction: 'higher' | 'lower' = 'higher'): Normalization => ({ method: 'linear', min, max, direction });

test('a linear score that maps to a whole number is exact in both directions', () => {
  for (let score = 0; score <= SCALE; score++) {
    expect(normalize(linear(0, SCALE), score)).toBe(score);
    expect(normalize(linear(-5, SCALE * 3 - 5, 'lower'), SCALE * 3 - 5 - score * 3)).toBe(score);
  }
});

test('a linear score is rounded down, however large the numbers are', () => {
  const max = Number.MAX_SAFE_INTEGER;
  expect([normalize(linear(0, 3), 1), normalize(linear(0, 3), 2)]).toEqual([3_333, 6_666]);
  expect(normalize(linear(-max, max), max - 1)).toBe(SCALE - 1);
  expect(normalize(linear(-max, max), 0)).toBe(SCALE / 2);
});

test('scores outside min and max count as min or max', () => {
  expect([-1, 0, 100, 101].map((score) => normalize(linear(0, 100), score))).toEqual([0, 0, SCALE, SCALE]);
});

test('a logarithmic score is monotonic and reaches the maximum at the best raw score', () => {
  for (const direction of ['higher', 'lower'] as const) {
    for (const max of [1, 7, 999, 1_000_000]) {
      const rule: Normalization = { method: 'log', min: 0, max, direction };
      expect([normalize(rule, direction === 'higher' ? 0 : max), normalize(rule, direction === 'higher' ? max : 0)]).toEqual([0, SCALE]);
    }
  }
  const rule: Normalization = { method: 'log', min: 0, max: 5_000, direction: 'higher' };
  const all = Array.from({ length: 5_001 }, (_, score) => normalize(rule, score));
  expect(all).toEqual(all.toSorted((a, b) => a - b));
});

test('a piecewise score equals the configured value at each point', () => {
  const points = [
    { score: 10, normalized: 0 },
    { score: 20, normalized: 9_000 },
    { score: 100, normalized: SCALE },
  ];
  const rule = Normalization.parse({ method: 'piecewise', min: 0, max: 1_000, direction: 'higher', points });
  expect([0, 10, 15, 20, 60, 100, 1_000].map((score) => normalize(rule, score))).toEqual([0, 0, 4_500, 9_000, 9_500, SCALE, SCALE]);
});
