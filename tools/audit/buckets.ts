import { PERIODS, type Period } from '#lib/periods.ts';
import { DAY } from './check.ts';

/**
 * Returns SQL of the bucket of a UTC day number, equal to `bucketOf`.
 * @param day an SQL expression
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

/** Returns SQL of the first UTC day number of the bucket of a day. */
export const firstDaySql = (period: Period, day: string): string =>
  period === 'day' ? day : `(date_trunc('${period}', (date '1970-01-01' + ${day})::timestamp)::date - date '1970-01-01')`;

/** A CTE: every day until today, once per period with its bucket. */
export const DAYS = `days as materialized (
  ${PERIODS.map((period) => `select '${period}' as period, ${bucketSql(period, 'd.day')} as bucket, d.day from generate_series(0, ${DAY} + 1) as d(day)`).join(' union all ')})`;
