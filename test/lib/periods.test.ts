import { expect, test } from '@jest/globals';
import { bucketOf, bucketStart, dayNumber, dayStart, PERIODS, parseDay } from '#lib/periods.ts';

const day = (text: string) => parseDay(text);

test('days are counted from 1970-01-01 in UTC', () => {
  expect(day('1970-01-01')).toBe(0);
  expect(day('2026-11-21')).toBe(20_778);
  expect(dayNumber(new Date('2026-11-21T23:59:59.999Z'))).toBe(20_778);
  expect(dayNumber(new Date('2026-11-22T00:00:00.000Z'))).toBe(20_779);
  expect(dayStart(20_778).toISOString()).toBe('2026-11-21T00:00:00.000Z');
});

test('weeks begin on Monday, also across a year’s end', () => {
  expect(bucketOf('week', day('2026-12-28'))).toBe(bucketOf('week', day('2027-01-03')));
  expect(bucketOf('week', day('2027-01-04'))).toBe(bucketOf('week', day('2027-01-03')) + 1);
  expect(bucketStart('week', bucketOf('week', day('2027-01-01')))).toBe(day('2026-12-28'));
});

test('month and year buckets begin on their first day, also in leap years', () => {
  expect(bucketStart('month', bucketOf('month', day('2028-02-29')))).toBe(day('2028-02-01'));
  expect(bucketStart('month', bucketOf('month', day('2028-02-29')) + 1)).toBe(day('2028-03-01'));
  expect(bucketStart('year', bucketOf('year', day('2028-12-31')))).toBe(day('2028-01-01'));
  expect(bucketStart('month', bucketOf('month', day('2026-12-31')) + 1)).toBe(day('2027-01-01'));
});

test.each(PERIODS)('every day belongs to exactly one %s bucket, and buckets have no gaps', (period) => {
  for (let d = day('2023-12-15'); d < day('2029-01-15'); d++) {
    const bucket = bucketOf(period, d);
    expect(bucketStart(period, bucket)).toBeLessThanOrEqual(d);
    expect(bucketStart(period, bucket + 1)).toBeGreaterThan(d);
    expect(bucketOf(period, d + 1) - bucket).toBe(d + 1 === bucketStart(period, bucket + 1) ? 1 : 0);
  }
});
