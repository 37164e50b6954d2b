import { expect, test } from '@jest/globals';
import { compared, median } from '#tools/bench/comparison/compare.ts';
import type { Figure } from '#tools/bench/support/report.ts';

const figure = (what: string, value: number, text = `${value}/s`): Figure => ({ bench: 'scores', what, figure: text, value, against: '', ratio: '' });

test('the median of an even number of values is the mean of the two in the middle', () => {
  expect([median([3]), median([1, 5, 9]), median([1, 2, 4, 9])]).toEqual([3, 5, 3]);
});

test('a comparison has the medians of both releases, their spreads and the median of the ratios of measurements in turn', () => {
  const own = [300, 200, 400].map((value) => figure('rate', value));
  const other = [100, 200, 150].map((value) => figure('rate', value));
  expect(compared(own, other, 'abc1234')).toEqual([
    { bench: 'scores', what: 'rate', figure: '300/s (200–400)', value: 300, against: 'abc1234: 150/s (100–200)', ratio: '2.67×' },
  ]);
  expect(compared(own, other.slice(1), 'abc1234')).toMatchObject([{ ratio: '1.71×' }]);
});

test('a comparison keeps a value that only this checkout has, and drops a value that could not be measured', () => {
  const own = [figure('new', 1_500, '1,500 µs'), figure('failed', Number.NaN, '–')];
  expect(compared(own, [], 'abc1234')).toEqual([
    { bench: 'scores', what: 'new', figure: '1,500 µs (1,500–1,500)', value: 1_500, against: 'not in abc1234', ratio: '' },
  ]);
});
