import type { Config } from '#config';
import type { Queryable } from '#platform/db/sql.ts';
import type { RedisClient } from '#platform/redis/connection.ts';
import type { Chain } from '#platform/solana/solana.ts';
import type { Storage } from '#platform/storage/storage.ts';

/**
 * Limits for the rows that an audit compares one by one. The audit skips old rows that never change, because earlier audits compared them. Sums
 * always cover all rows.
 */
export interface Scope {
  /** Number of UTC days before today whose rows are compared one by one. */
  readonly days: number;
  /** Number of newest reward epochs that are recomputed. */
  readonly epochs: number;
  /** Number of newest lottery rounds that are recomputed. */
  readonly rounds: number;
  /**
   * Number of newest transaction signatures that are checked. The audit also checks 10 × `sample` game records, `sample` / 10 clip files and `sample`
   * / 10 manual payments.
   */
  readonly sample: number;
  /** Whether to compare all rows. The limits in the other fields are then ignored. */
  readonly all: boolean;
  /** A closed month (see `bucketOf`) whose rows and files are all read again; without it, the rows of no closed month, or with `all` of every one. */
  readonly month?: number;
}

/** Settings and connections that checks use. Checks write nothing. */
export interface AuditContext {
  readonly config: Config;
  readonly scope: Scope;
  /**
   * Connection to the database. All queries of a check without `live` read the same snapshot; each query of a `live` check reads the current state.
   */
  readonly db: Queryable;
  readonly redis: RedisClient;
  readonly chain: Chain;
  readonly storage: Storage;
  /**
   * Limits for comparing a difference between two systems again: the maximum number of further comparisons, and the delay between them, ms. A
   * difference may disappear, because one system may have been updated later than the other system.
   */
  readonly recheck: { readonly attempts: number; readonly intervalMs: number };
}

/** Differences that a check found: the total number, and at most `MAX_LISTED` of them as one sentence each. */
export interface Differences {
  readonly total: number;
  readonly listed: readonly string[];
}

/** A check of one invariant. */
export interface Check {
  readonly name: string;
  /** The invariant, in one sentence. */
  readonly invariant: string;
  /**
   * Whether the check runs without a snapshot, because it compares the database with Redis, the chain or the file storage, or because its statements
   * need no common snapshot.
   */
  readonly live?: true;
  /** Whether a difference is only a warning for operators, not a violation of the invariant. */
  readonly warnsOnly?: true;
  /**
   * Runs the check.
   * @throws Error when the check cannot compare, for example because a system is unavailable
   */
  run(audit: AuditContext): Promise<Differences>;
}

/** Maximum differences that are listed. */
const MAX_LISTED = 20;

/**
 * SQL expressions for the time of the snapshot (`AT`), the UTC day of that time (`DAY`) and the first day whose rows are compared one by one
 * (`FROM`). `CLOSED` and `OPEN` are the first day of the oldest closed month and the first day after the newest closed month in front of the first
 * open one. The audit uses the stored sums of the months between them instead of their rows; with `all`, these are the detached months.
 * Without a snapshot both are 0, so that no month is replaced by sums.
 * `atMoment` replaces the expressions by literals before a statement runs, so that the planner can estimate how many rows are later than these values.
 */
export const AT = `(select current_setting('audit.at')::timestamptz)`;
export const DAY = `(select current_setting('audit.day')::int)`;
export const FROM = `(select current_setting('audit.from')::int)`;
export const CLOSED = `(select coalesce(nullif(current_setting('audit.closed', true), ''), '0')::int)`;
export const OPEN = `(select coalesce(nullif(current_setting('audit.open', true), ''), '0')::int)`;
const MOMENT = [AT, DAY, FROM, CLOSED, OPEN];

/** Returns an SQL expression for the first UTC day of a month (see `bucketOf`). */
export const firstDayOf = (month: string) => `make_date(${month} / 12, ${month} % 12 + 1, 1) - date '1970-01-01'`;
/**
 * SQL that selects the first day of the oldest month whose rows the audit replaces by sums, and the first day after the newest such month. All
 * tables of such a month must be closed. Both days are 0 when there is no such month.
 */
const closedDays = (all: boolean) => `
  select coalesce(${firstDayOf('min(month)')}, 0) as closed, coalesce(${firstDayOf('(max(month) + 1)')}, 0) as open
  from (select month, month - row_number() over (order by month) = first_value(month) over (order by month) - 1 as follows, done
    from (select month, bool_and(${all ? 'detached_at' : 'closed_at'} is not null) as done from closed_partitions group by month) m where done) c
  where follows`;

/** Returns the first SQL statement of a snapshot. It stores the values of `AT`, `DAY`, `FROM`, `CLOSED` and `OPEN` as settings of the transaction or the session. */
export const setMomentSql = ({ days, all }: Scope, of: 'transaction' | 'session' = 'transaction') => `
  select set_config('audit.at', at::text, ${of === 'transaction'}), set_config('audit.day', day::text, ${of === 'transaction'}),
    set_config('audit.from', (case when ${all} then 0 else day - ${Math.trunc(days)} end)::text, ${of === 'transaction'}),
    set_config('audit.closed', closed::text, ${of === 'transaction'}), set_config('audit.open', open::text, ${of === 'transaction'})
  from (select app_now() as at) t, lateral (select floor(extract(epoch from at) / 86400)::int as day) d, (${closedDays(all)}) c`;

/** Returns the statement with the expressions for the moment of the snapshot replaced by their values. */
async function atMoment(db: Queryable, sql: string): Promise<string> {
  const names = MOMENT.filter((name) => sql.includes(name));
  if (names.length === 0) return sql;
  const [moment = {}] = await db.query<Record<string, string>>({ text: `select ${names.map((name, i) => `${name}::text as m${i}`).join(', ')}` });
  return names.reduce((text, name, i) => text.replaceAll(name, name === AT ? `'${moment[`m${i}`]}'::timestamptz` : `${moment[`m${i}`]}`), sql);
}

/**
 * SQL condition on `cause_day` that selects the rows of the ledger or of the activities whose month is not replaced by sums. PostgreSQL skips the
 * partitions of the other months.
 */
export const IS_OPEN = `(cause_day < ${CLOSED} or cause_day >= ${OPEN})`;

/** Returns the SQL expression for the first UUIDv7 of a UTC day. */
export const firstId = (day: string) => `(lpad(to_hex(${day} * 86400000::int8), 12, '0') || repeat('0', 20))::uuid`;
/**
 * Returns the SQL condition that a UUIDv7 was made in a month that is not replaced by sums.
 * @param early days before the first open month whose rows are also selected
 */
export const isOpenId = (id: string, early = 0): string =>
  `(${id} < ${firstId(CLOSED)} or ${id} >= ${firstId(early === 0 ? OPEN : `greatest(${OPEN} - ${early}, 0)`)})`;

/** Returns the SQL condition that a month (see `bucketOf`) is one whose rows the audit replaces by sums. */
export const isSummed = (month: string): string => `${firstDayOf(month)} >= ${CLOSED} and ${firstDayOf(month)} < ${OPEN}`;

/**
 * SQL that selects the points of all ledger rows with their wallet, mode, kind and day. The rows of a closed month are replaced by one row per wallet
 * and the first day of the month in which the points were written; no row of a closed month was written after the month before the present one.
 */
export const POINTS = `(
  select wallet, mode, kind, points, day, coalesce(factors->>'referred', '') as referred, 1::int8 as n from ledger where ${IS_OPEN}
  union all select wallet, mode, kind, points, ${firstDayOf('paid_month')}, referred, row_count from carried_points
  where ${isSummed('month')})`;

/**
 * Returns an SQL condition that selects one eighth of all wallets, a different eighth on each of eight consecutive days. With `all`, the condition
 * selects all wallets. A check uses the condition when sums cannot show every difference. The `invariant` of the check says that only an eighth is
 * compared.
 */
export const inSlice = ({ all }: Scope): string => (all ? 'true' : `(hashtext(wallet) & 7) = (${DAY} & 7)`);

/**
 * Runs a statement that selects one row per difference. Returns the number of rows and, in alphabetical order, the first rows.
 * @param sql the statement, with one column, `what`: a sentence that describes the difference
 */
export async function differences(db: Queryable, sql: string): Promise<Differences> {
  const text = `select what, count(*) over ()::int as total from (${await atMoment(db, sql)}) found order by what limit ${MAX_LISTED}`;
  const rows = await db.query<{ what: string; total: number }>({ text });
  return { total: rows[0]?.total ?? 0, listed: rows.map(({ what }) => what) };
}

/**
 * Creates a check that compares tables of the database with each other in one SQL statement.
 * @param sql the statement, as described at `differences`
 */
export const databaseCheck = (name: string, invariant: string, sql: string | ((audit: AuditContext) => string)): Check => ({
  name,
  invariant,
  run: (audit) => differences(audit.db, typeof sql === 'string' ? sql : sql(audit)),
});

/**
 * Returns an SQL expression for a pseudo-random integer between −2³¹ and 2³¹ that depends only on the given values.
 * @param values the SQL expressions of these values
 */
export const weight = (...values: readonly string[]): string => `hashtextextended(concat_ws(' ', ${values.join(', ')}), 7) % 2147483647`;

/**
 * Creates a check that compares two large tables. The check compares sums first, and compares rows one by one only if the sums differ. For the sums,
 * each side multiplies the numbers of a row by the weight of the row (see `weight`) and adds the products. The probability that different rows give
 * equal sums is one in a billion.
 * @param sides two SQL statements, one for each table; each returns a few rows of sums, and both return the same rows when the invariant holds
 * @param sql the statement that compares the rows one by one, as described at `differences`
 * @param always a statement that runs first, even when the sums are equal; it finds the differences that do not change the sums
 */
export const checksumCheck = (
  name: string,
  invariant: string,
  sides: readonly [string, string],
  sql: string,
  always?: (scope: Scope) => string,
): Check => ({
  name,
  invariant,
  async run({ db, scope }) {
    const extra = always === undefined ? { total: 0, listed: [] } : await differences(db, always(scope));
    if (extra.total > 0) return extra;
    const [ours, theirs] = sides.map((side) => `(select jsonb_agg(to_jsonb(s) order by to_jsonb(s)) from (${side}) s)`);
    const text = await atMoment(db, `select ${ours} is not distinct from ${theirs} as same`);
    const [row] = await db.query<{ same: boolean }>({ text });
    if (row?.same === true) return { total: 0, listed: [] };
    const found = await differences(db, sql);
    // The sums differ, but `sql` has found no row that differs. There are two cases. If `sql` compared all rows, the tables match: one side has a row
    // with the sum 0, and the other side has no row for this sum. If `sql` compared only the rows since `FROM`, an older row differs.
    if (found.total > 0 || scope.all || !sql.includes(FROM)) return found;
    return { total: 1, listed: ['the sums differ because of rows older than --days; run again with --all to find them'] };
  },
});

/** Collects differences: counts all of them, and keeps the sentences of the first `MAX_LISTED`. */
export class DifferenceList implements Differences {
  total = 0;
  readonly listed: string[] = [];

  add(what: string): void {
    this.total += 1;
    if (this.listed.length < MAX_LISTED) this.listed.push(what);
  }

  addAll({ total, listed }: Differences): void {
    for (const what of listed) this.add(what);
    this.total += total - listed.length;
  }
}
