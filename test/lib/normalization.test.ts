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

test('a logarithmic score equals the formula, rounded down', () => {
  const rule: Normalization = { method: 'log', min: 100, max: 1_099, direction: 'higher' };
  for (const score of [100, 101, 150, 500, 1_098, 1_099]) {
    expect(normalize(rule, score)).toBe(Math.floor((SCALE * Math.log(1 + score - 100)) / Math.log(1_000)));
    expect(normalize({ ...rule, direction: 'lower' }, 1_199 - score)).toBe(normalize(rule, score));
  }
  // 10,000 × ln 2 / ln 1,000 = 1,003.43
  expect(normalize(rule, 101)).toBe(1_003);
});

test('a piecewise score is rounded down between points, also where it falls with the raw score', () => {
  const points = [
    { score: -10, normalized: 9_999 },
    { score: 0, normalized: 300 },
    { score: 7, normalized: 300 },
    { score: 10, normalized: 200 },
  ];
  const rule = Normalization.parse({ method: 'piecewise', min: -20, max: 20, direction: 'lower', points });
  // 9,999 − 9,699 / 10 = 9,029.1; 300 − 100 × 1/3 = 266.7
  expect([-20, -11, -10, -9, 0, 3, 7, 8, 10, 11, 20].map((score) => normalize(rule, score))).toEqual([
    9_999, 9_999, 9_999, 9_029, 300, 300, 300, 266, 200, 200, 200,
  ]);
});

test('a piecewise rule without points gives 0', () => {
  expect(normalize({ method: 'piecewise', min: 0, max: 9, direction: 'higher' }, 5)).toBe(0);
});

/** Returns the path and message of the first error of a rule, or null when the rule is valid. */
function errorOf(change: Record<string, unknown>) {
  const rule = { method: 'piecewise', min: 0, max: 100, direction: 'higher', ...change };
  const issue = Normalization.safeParse(rule).error?.issues[0];
  return issue ? `${issue.path.join('.')} ${issue.message}` : null;
}

/** Returns points from pairs of a raw and a normalized score. */
const pointsOf = (...pairs: [number, number][]) => pairs.map(([score, normalized]) => ({ score, normalized }));

test('invalid rules are rejected with the field and the reason', () => {
  const valid = pointsOf([0, 0], [100, SCALE]);
  expect(errorOf({ points: valid })).toBeNull();
  expect(errorOf({ points: valid, min: 0, max: 0 })).toBe('max must be above min');
  expect(errorOf({ method: 'linear', min: 0, max: 1 })).toBeNull();
  expect(errorOf({ method: 'linear', points: valid })).toBe('points must be given for piecewise, and only for piecewise');
  expect(errorOf({})).toBe('points must be given for piecewise, and only for piecewise');
  expect(errorOf({ points: pointsOf([0, 0], [0, 1]) })).toBe('points must be in ascending order of score');
  expect(errorOf({ min: -9, points: pointsOf([-5, 0], [-6, 1], [-4, 2]) })).toBe('points must be in ascending order of score');
  expect(errorOf({ min: -9, points: pointsOf([-5, 0], [-4, 1]) })).toBeNull();
  expect(errorOf({ points: pointsOf([-1, 0], [100, 1]) })).toBe('points must lie between min and max');
  expect(errorOf({ points: pointsOf([0, 0], [101, 1]) })).toBe('points must lie between min and max');
  const mustRise = 'points must rise with the score for direction higher, and fall for direction lower';
  expect(errorOf({ points: pointsOf([0, 5], [50, 4], [100, 9]) })).toBe(mustRise);
  expect(errorOf({ points: pointsOf([0, 5], [50, 5], [100, 9]) })).toBeNull();
  expect(errorOf({ direction: 'lower', points: pointsOf([0, 5], [50, 6], [100, 0]) })).toBe(mustRise);
  expect(errorOf({ direction: 'lower', points: pointsOf([0, 5], [50, 5], [100, 0]) })).toBeNull();
});

test('a rule has 2 to 32 points with normalized scores from 0 to 10,000', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => ({ score: i, normalized: i }));
  expect([1, 2, 32, 33].map((count) => errorOf({ points: many(count) }) === null)).toEqual([false, true, true, false]);
  expect(errorOf({ points: pointsOf([0, -1], [1, 0]) })).not.toBeNull();
  expect(errorOf({ points: pointsOf([0, 0], [1, SCALE + 1]) })).not.toBeNull();
});
