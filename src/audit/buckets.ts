import { PERIODS, type Period } from '../lib/periods.ts';
import { DAY } from './check.ts';

/** SQL of the bucket that a UTC day number falls into: what `bucketOf` says. @param day an expression */
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

/** SQL of the first UTC day number of the bucket that a day falls into. */
const firstSql = (period: Period, day: string) => `(date_trunc('${period}', date '1970-01-01' + ${day})::date - date '1970-01-01')`;

const columns = PERIODS.flatMap((period) => [`${bucketSql(period, 'd.day')} as ${period}`, `${firstSql(period, 'd.day')} as ${period}_first`]);

/** A CTE: the buckets of today, and their first days. */
export const TODAY = `today as materialized (select ${columns.join(', ')} from (select ${DAY} as day) d)`;

/** A CTE: every day until today, with its buckets. */
export const DAYS = `days as materialized (
  select ${PERIODS.map((period) => `${bucketSql(period, 'd.day')} as ${period}`).join(', ')} from generate_series(0, ${DAY} + 1) as d(day))`;
