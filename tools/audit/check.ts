import type { Redis } from 'ioredis';
import type { Config } from '#config';
import type { Queryable } from '#platform/db/sql.ts';
import type { Chain } from '#platform/solana/solana.ts';
import type { Storage } from '#platform/storage/storage.ts';

/** How much is compared. Sums cover all rows, including those older than `days`; immutable rows were checked by earlier audits. */
export interface Scope {
  /** UTC days before today that are compared row by row. */
  readonly days: number;
  /** Number of newest epochs that are recomputed. */
  readonly epochs: number;
  /** Number of newest rounds that are recomputed. */
  readonly rounds: number;
  /** Number of newest signatures, records and files that are checked. */
  readonly sample: number;
  /** Everything is compared, without these limits. */
  readonly all: boolean;
}

/** The dependencies of checks. Checks are read-only. */
export interface AuditContext {
  readonly config: Config;
  readonly scope: Scope;
  /** The database: one snapshot per check, but the current state for `live` checks. */
  readonly db: Queryable;
  readonly redis: Redis;
  readonly chain: Chain;
  readonly storage: Storage;
  /** A difference between two systems may be temporary: how often it is compared, and the delay between comparisons, ms. */
  readonly recheck: { readonly attempts: number; readonly intervalMs: number };
}

/** The differences found: their number, and the first of them as one sentence each. */
export interface Differences {
  readonly total: number;
  readonly listed: readonly string[];
}

/** A check of one invariant. */
export interface Check {
  readonly name: string;
  /** The invariant, in one sentence. */
  readonly invariant: string;
  /** The check compares with Redis, the chain or the storage, or reads immutable rows: it runs outside a snapshot. */
  readonly live?: true;
  /** A difference is a warning for operators and not a violation. */
  readonly warnsOnly?: true;
  /** @throws when the comparison was not possible */
  run(audit: AuditContext): Promise<Differences>;
}

/** Maximum differences that are listed. */
const MAX_LISTED = 20;

/**
 * SQL: the time of the snapshot, its UTC day, and the first day that is compared row by row. Statements get them as literals, so that the
 * planner can estimate how many rows come after them.
 */
export const AT = `(select current_setting('audit.at')::timestamptz)`;
export const DAY = `(select current_setting('audit.day')::int)`;
export const FROM = `(select current_setting('audit.from')::int)`;

/** Returns SQL that sets `AT`, `DAY` and `FROM`: the first statement of a snapshot. */
export const setMomentSql = ({ days, all }: Scope) => `
  select set_config('audit.at', at::text, true), set_config('audit.day', day::text, true),
    set_config('audit.from', (case when ${all} then 0 else day - ${Math.trunc(days)} end)::text, true)
  from (select app_now() as at) t, lateral (select floor(extract(epoch from at) / 86400)::int as day) d`;

/** Replaces `AT`, `DAY` and `FROM` in a statement by their values. */
async function atMoment(db: Queryable, sql: string): Promise<string> {
  const names = [AT, DAY, FROM].filter((name) => sql.includes(name));
  if (names.length === 0) return sql;
  const [moment = {}] = await db.query<Record<string, string>>({ text: `select ${names.map((name, i) => `${name}::text as m${i}`).join(', ')}` });
  return names.reduce((text, name, i) => text.replaceAll(name, name === AT ? `'${moment[`m${i}`]}'::timestamptz` : `${moment[`m${i}`]}`), sql);
}

/**
 * Returns SQL: whether a wallet belongs to today's eighth of all wallets (with `all`: always true). Used where sums cannot find a
 * difference; the invariant of the check says so.
 */
export const inSlice = ({ all }: Scope): string => (all ? 'true' : `(hashtext(wallet) & 7) = (${DAY} & 7)`);

/**
 * Runs a statement and returns how many rows it finds, and the first of them.
 * @param sql selects rows of one column, `what`: a sentence each
 */
export async function differences(db: Queryable, sql: string): Promise<Differences> {
  const text = `select what, count(*) over ()::int as total from (${await atMoment(db, sql)}) found order by what limit ${MAX_LISTED}`;
  const rows = await db.query<{ what: string; total: number }>({ text });
  return { total: rows[0]?.total ?? 0, listed: rows.map(({ what }) => what) };
}

/**
 * Creates a check of the database against itself.
 * @param sql see `differences`
 */
export const databaseCheck = (name: string, invariant: string, sql: string | ((audit: AuditContext) => string)): Check => ({
  name,
  invariant,
  run: (audit) => differences(audit.db, typeof sql === 'string' ? sql : sql(audit)),
});

/** Returns SQL of a pseudo-random number below 2³¹ in size that depends only on the values. */
export const weight = (...values: readonly string[]): string => `hashtextextended(concat_ws(' ', ${values.join(', ')}), 7) % 2147483647`;

/**
 * Creates a check that compares large tables by fingerprints first: each side sums its numbers, each multiplied by the weight of its row,
 * in one pass without intermediate storage. Any difference changes the sums, except with a chance of one in a billion. Only when sums
 * differ are rows compared.
 * @param sides two SQL statements of a few rows each, which are equal when the invariant holds
 * @param sql see `differences`
 * @param always SQL that runs every time, for differences that sums cannot find
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
    // The sums also differ when one side has a row of zero and the other has no row (null); if all rows were compared, the row comparison
    // decides.
    if (found.total > 0 || scope.all || !sql.includes(FROM)) return found;
    return { total: 1, listed: ['the sums differ because of rows older than --days; run again with --all to find them'] };
  },
});

/** Collects differences, and lists the first `MAX_LISTED`. */
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
