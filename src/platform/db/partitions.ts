import { fail, unavailable } from '#lib/errors.ts';
import type { Logger } from '#platform/observability/log.ts';
import { type Queryable, statement } from './sql.ts';

/** Months after the present one whose partitions the service keeps ready. */
export const MONTHS_AHEAD = 3;

const makeMissing = statement<{ made: number }>(
  'make_partitions',
  `select make_partitions(null, (app_now() at time zone 'UTC' + make_interval(months => $1::int))::date) as made`,
);

/**
 * Makes the missing partitions of the months up to MONTHS_AHEAD after the present one, for every partitioned table.
 * @returns the number of partitions that were missing
 */
export const makePartitions = async (db: Queryable): Promise<number> => (await db.query(makeMissing, [MONTHS_AHEAD]))[0]?.made ?? 0;

const analyzeNew = statement<{ analyzed: number }>('analyze_new_partitions', 'select analyze_new_partitions() as analyzed');

/** Updates the statistics of partitions that were empty or small when PostgreSQL last counted their rows, so that it plans to read them by their indexes. */
export const analyzeNewPartitions = async (db: Queryable): Promise<void> => void (await db.query(analyzeNew));

const selectMonths = statement<{ oldest: string | null; newest: string | null }>(
  'select_partition_months',
  `select min(month) as oldest, max(month) as newest
   from pg_inherits join pg_class on oid = inhrelid, replace(right(relname, 7), '_', '-') as month
   where inhparent = to_regclass($1) and relname ~ '_[0-9]{4}_[0-9]{2}$'`,
);

/** SQLSTATE `check_violation`. For a row without a partition, PostgreSQL names the table, but no constraint. */
const CHECK_VIOLATION = '23514';

interface MissingMonth {
  readonly table: string;
  /** Such as `2026-09`. */
  readonly month: string;
}

/** Returns the table and the month of the row for which a transaction found no partition. */
function findMissingMonth(error: unknown): MissingMonth | undefined {
  if (!Error.isError(error) || !('code' in error) || error.code !== CHECK_VIOLATION) return undefined;
  if (!('table' in error) || typeof error.table !== 'string' || ('constraint' in error && error.constraint)) return undefined;
  const detail = 'detail' in error && typeof error.detail === 'string' ? error.detail : '';
  const key = / = \(([0-9a-f-]+)\)/.exec(detail)?.[1];
  if (key === undefined) return undefined;
  // The key is the UTC day of the cause, or a UUIDv7, which begins with its time in ms.
  const ms = key.length === 36 ? Number.parseInt(key.slice(0, 13).replace('-', ''), 16) : Number(key) * 86_400_000;
  return { table: error.table, month: new Date(ms).toISOString().slice(0, 7) };
}

/**
 * Makes the missing partitions if a transaction failed because of one, so that scores and points do not depend on the job that makes partitions ahead.
 * Does not repeat the transaction, because its caller may not be repeatable in the same process; clients and jobs repeat a 503.
 * @returns the error to throw: 503 if a repeated transaction finds its partition, 409 if the month is detached, otherwise `error`
 */
export async function explainMissingMonth(db: Queryable, log: Logger, error: unknown): Promise<unknown> {
  const missing = findMissingMonth(error);
  if (missing === undefined) return error;
  const made = await makePartitions(db);
  const [months] = await db.query(selectMonths, [missing.table]);
  if (!months?.oldest || !months.newest || missing.month > months.newest) return error;
  if (missing.month < months.oldest) return fail(409, `the data of ${missing.month} is in the archive, and cannot be changed or extended`);
  log.warn({ ...missing, made }, 'a row had no partition for its month, so the service made the missing partitions; the job or client tries again');
  return unavailable();
}
