import { z } from 'zod';

/** Leaderboard periods, all in UTC; the week is the ISO week (Monday first). */
export const PERIODS = ['day', 'week', 'month', 'year'] as const;
export const Period = z.enum(PERIODS, 'must be one of day, week, month, year').meta({ id: 'Period' });
export type Period = z.infer<typeof Period>;

/** The time that a leaderboard covers: a period, or all time. */
export type Span = Period | 'all';

const DAY_MS = 86_400_000;

/** Returns the UTC day number of an instant: full days since 1970-01-01. This is also the number of the day's reward epoch. */
export function dayNumber(at: Date): number {
  return Math.floor(at.getTime() / DAY_MS);
}

/** Returns the first instant of a UTC day number. */
export function dayStart(day: number): Date {
  return new Date(day * DAY_MS);
}

/**
 * Returns the number of the bucket (one day, week, month or year) that contains a UTC day. Buckets are consecutive integers per period, so the bucket
 * before a bucket is `bucket − 1`.
 * `day`: days since 1970-01-01.
 * `week`: ISO weeks since Monday 1969-12-29.
 * `month`: months since 0000-01.
 * `year`: the year.
 */
export function bucketOf(period: Period, day: number): number {
  const date = dayStart(day);
  switch (period) {
    case 'day':
      return day;
    case 'week':
      return Math.floor((day + 3) / 7);
    case 'month':
      return date.getUTCFullYear() * 12 + date.getUTCMonth();
    case 'year':
      return date.getUTCFullYear();
  }
}

/** Returns the first UTC day number of a bucket. */
export function bucketStart(period: Period, bucket: number): number {
  switch (period) {
    case 'day':
      return bucket;
    case 'week':
      return bucket * 7 - 3;
    case 'month':
      return dayNumber(new Date(Date.UTC(Math.floor(bucket / 12), bucket % 12, 1)));
    case 'year':
      return dayNumber(new Date(Date.UTC(bucket, 0, 1)));
  }
}

/** Converts `YYYY-MM-DD` to a UTC day number. */
export function parseDay(text: string): number {
  return dayNumber(new Date(`${text}T00:00:00.000Z`));
}
