import { PERIODS, type Period } from '#lib/periods.ts';
import { DAY } from './check.ts';

/**
 * Returns an SQL expression for the bucket (the number of a day, week, month or year) that contains a UTC day. The expression gives the same number
 * as the function `bucketOf`.
 * @param day an SQL expression for the UTC day, days since 1970
 */
export function bucketSql(period: Period, day: string): string {
  const part = (name: string) => `extract(${name} from date '1970-01-01' + ${day})`;
  switch (period) {
    case 'day':
      return `${day}`;
    case 'week':
      return `((${day} + 3) / 7)`;
    case 'month':
      return `(${part('year')} * 12 + ${part('month')} - 1)::int`;
    case 'year':
      return `${part('year')}::int`;
  }
}

/** Returns an SQL expression for the first UTC day of the bucket (day, week, month or year) that contains a day. */
export const firstDaySql = (period: Period, day: string): string =>
  period === 'day' ? day : `(date_trunc('${period}', (date '1970-01-01' + ${day})::timestamp)::date - date '1970-01-01')`;

/**
 * CTE `days` with the columns `period`, `bucket` and `day`. It has one row per period and UTC day from 1970 to tomorrow; `bucket` is the bucket that
 * contains the day.
 */
export const DAYS = `days as materialized (
  ${PERIODS.map((period) => `select '${period}' as period, ${bucketSql(period, 'd.day')} as bucket, d.day from generate_series(0, ${DAY} + 1) as d(day)`).join(' union all ')})`;
