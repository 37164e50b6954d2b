import { type Check, ok, warning, wrong } from '#doctor/check.ts';
import { statement } from '#platform/db/sql.ts';

/** Up to so many days of partitions ahead, the finding is a warning; the service makes partitions three months ahead. */
const MIN_DAYS = 31;

const selectAhead = statement<{ relation: string; days: number }>(
  'doctor_partitions',
  `select p.relname::text as relation, (max(to_date(right(c.relname, 7), 'YYYY_MM')) + interval '1 month')::date - ($1::timestamptz at time zone 'UTC')::date as days
   from pg_inherits i join pg_class p on p.oid = i.inhparent and p.relkind = 'p' and p.relnamespace = current_schema()::regnamespace
   join pg_class c on c.oid = i.inhrelid and c.relname ~ '_[0-9]{4}_[0-9]{2}$' group by 1 order by 2, 1 limit 1`,
);

/** Checks whether each partitioned table has partitions for the next month. */
export const partitions: Check = {
  name: 'partitions',
  settings: ['DATABASE_URL'],
  remedy: 'Start PostgreSQL, or correct DATABASE_URL.',
  async run({ db, clock }) {
    const [next] = await db.query(selectAhead, [clock.now().toISOString()]);
    if (!next) return [ok('the database has no partitioned tables yet')];
    const { relation, days } = next;
    if (days <= 0)
      return [
        wrong(
          `${relation} has no partition for the present day`,
          'Run a worker of the queue maintenance; its job keep-history makes the partitions.',
        ),
      ];
    const what = `the partitions of ${relation} end in ${days} days`;
    if (days <= MIN_DAYS) return [warning(what, 'Check that a worker serves the queue maintenance; its job keep-history makes the partitions.')];
    return [ok(what)];
  },
};
