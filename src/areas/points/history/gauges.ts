import type { GaugeReader } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { type GaugeRow, readSamples } from '#platform/observability/metrics/sql-gauges.ts';

/**
 * Reads the days until the first partitioned table has no partition, and the months that ended but are not closed. Names end with the year and the
 * month. Tables without monthly partitions are left out.
 */
const history = statement<GaugeRow>(
  'metrics_history',
  `with monthly as (
     select p.relname as relation, to_date(right(c.relname, 7), 'YYYY_MM') as month, left(right(c.relname, 7), 4)::int * 12 + right(c.relname, 2)::int - 1 as bucket
     from pg_inherits i join pg_class p on p.oid = i.inhparent and p.relkind = 'p' and p.relnamespace = 'public'::regnamespace
     join pg_class c on c.oid = i.inhrelid and c.relname ~ '_[0-9]{4}_[0-9]{2}$')
   select jsonb_build_object(
     'history_days_ahead', (select min(next) - (app_now() at time zone 'UTC')::date from (
        select (max(month) + interval '1 month')::date as next from monthly group by relation) n),
     'history_open_months', (select count(distinct bucket) from monthly m where m.month + interval '1 month' <= (select app_now()) at time zone 'UTC'
        and not exists (select from closed_partitions k where k.relation = m.relation and k.month = m.bucket and k.closed_at is not null)),
     'history_months_to_detach', (select count(distinct month) from closed_partitions where $1::int > 0 and detached_at is null
        and month < (extract(year from app_now() at time zone 'UTC') * 12 + extract(month from app_now() at time zone 'UTC') - 1)::int - $1::int)) as values`,
);

/** Reads how far the partitions of the big tables reach, and which months wait to be closed or detached. */
export const historyGauges: GaugeReader = {
  cacheMs: 60_000,
  gauges: {
    coinop_history_days_ahead: 'Days for which every partitioned table has partitions. Writes fail when it is 0 or less.',
    coinop_history_open_months: 'Months that ended and are not closed. A month is closed about two months after its end.',
    coinop_history_months_to_detach: 'Months that are older than HISTORY_MONTHS and still attached.',
  },
  read: (app) => readSamples(app, history, [app.config.historyMonths]),
};
