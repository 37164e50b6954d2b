import type { Redis } from 'ioredis';
import type { Config } from '#config';
import type { Queryable } from '#platform/db/sql.ts';
import type { Chain } from '#platform/solana/solana.ts';
import type { Storage } from '#platform/storage/storage.ts';

/** How much is looked at. What is older than `days` is covered by sums; what never changes, by the audits of earlier days. */
export interface Scope {
  /** Row by row, the UTC days before today that are compared. */
  readonly days: number;
  /** Epochs that are computed again, the newest. */
  readonly epochs: number;
  /** Rounds that are computed again, the newest. */
  readonly rounds: number;
  /** Signatures, records and files that are looked at, the newest. */
  readonly sample: number;
  /** Everything that there ever was, instead. */
  readonly all: boolean;
}

/** What checks work with. They write nothing. */
export interface Audit {
  readonly config: Config;
  readonly scope: Scope;
  /** The record: for checks that compare it with itself as of one moment, for the others (`live`) as it is. */
  readonly db: Queryable;
  readonly redis: Redis;
  readonly chain: Chain;
  readonly storage: Storage;
  /** What two systems say differently may be on its way: how often it is looked at, and the time in between, ms. */
  readonly patience: { readonly looks: number; readonly everyMs: number };
}

/** What differs: how many there are, and the first of them in a sentence each. */
export interface Differences {
  readonly total: number;
  readonly listed: readonly string[];
}

/** Something that must always hold. */
export interface Check {
  readonly name: string;
  /** What holds, in a sentence. */
  readonly invariant: string;
  /** Compares with Redis, the chain or the storage, or reads what never changes: outside the snapshot. */
  readonly live?: true;
  /** What it finds is for people to look at, and no contradiction. */
  readonly warns?: true;
  /** @throws where it could not look */
  run(audit: Audit): Promise<Differences>;
}

/** Of all that differs, so many are listed. */
export const MOST_LISTED = 20;

/**
 * The moment of the snapshot, its UTC day, and the first day that is compared row by row: for SQL. They are written into it as they are, so that
 * the planner knows how much lies after them.
 */
export const AT = `(select current_setting('audit.at')::timestamptz)`;
export const DAY = `(select current_setting('audit.day')::int)`;
export const FROM = `(select current_setting('audit.from')::int)`;

/** Notes what `AT`, `DAY` and `FROM` are. The first statement of a snapshot. */
export const noteMoment = ({ days, all }: Scope) => `
  select set_config('audit.at', at::text, true), set_config('audit.day', day::text, true),
    set_config('audit.from', (case when ${all} then 0 else day - ${Math.trunc(days)} end)::text, true)
  from (select app_now() as at) t, lateral (select floor(extract(epoch from at) / 86400)::int as day) d`;

/** @returns SQL with the moment that was noted written into it */
async function atMoment(db: Queryable, sql: string): Promise<string> {
  const names = [AT, DAY, FROM].filter((name) => sql.includes(name));
  if (names.length === 0) return sql;
  const [moment = {}] = await db.query<Record<string, string>>({ text: `select ${names.map((name, i) => `${name}::text as m${i}`).join(', ')}` });
  return names.reduce((text, name, i) => text.replaceAll(name, name === AT ? `'${moment[`m${i}`]}'::timestamptz` : `${moment[`m${i}`]}`), sql);
}

/**
 * SQL: whether a wallet is compared one by one today: an eighth of them, another one each day, where sums cannot tell. All with `all`.
 * Checks that do so say it.
 */
export const inSlice = ({ all }: Scope): string => (all ? 'true' : `(hashtext(wallet) & 7) = (${DAY} & 7)`);

/** Of everything that a statement finds, how much there is, and the first. @param sql rows of one column, `what`: a sentence each */
export async function differences(db: Queryable, sql: string): Promise<Differences> {
  const text = `select what, count(*) over ()::int as total from (${await atMoment(db, sql)}) found order by what limit ${MOST_LISTED}`;
  const rows = await db.query<{ what: string; total: number }>({ text });
  return { total: rows[0]?.total ?? 0, listed: rows.map(({ what }) => what) };
}

/** A check of the record against itself. @param sql see `differences` */
export const recordCheck = (name: string, invariant: string, sql: string | ((audit: Audit) => string)): Check => ({
  name,
  invariant,
  run: (audit) => differences(audit.db, typeof sql === 'string' ? sql : sql(audit)),
});

/** SQL: a number below 2³¹ in size, at random but always the same for the same values. */
export const weight = (...values: readonly string[]): string => `hashtextextended(concat_ws(' ', ${values.join(', ')}), 7) % 2147483647`;

/**
 * A check of large tables against each other, by fingerprints first: each side adds up its numbers, every one times the weight of the row that
 * it belongs to, in one pass that keeps nothing. What differs anywhere changes the sums, but for a chance in a billion; only then it is
 * looked for row by row.
 * @param sides SQL: two statements of a few rows each, which are the same where everything holds
 * @param sql see `differences`
 * @param always the same, of what sums do not tell
 */
export const summedCheck = (
  name: string,
  invariant: string,
  sides: readonly [string, string],
  sql: string,
  always?: (scope: Scope) => string,
): Check => ({
  name,
  invariant,
  async run({ db, scope }) {
    const besides = always === undefined ? { total: 0, listed: [] } : await differences(db, always(scope));
    if (besides.total > 0) return besides;
    const [ours, theirs] = sides.map((side) => `(select jsonb_agg(to_jsonb(s) order by to_jsonb(s)) from (${side}) s)`);
    const text = await atMoment(db, `select ${ours} is not distinct from ${theirs} as same`);
    const [row] = await db.query<{ same: boolean }>({ text });
    if (row?.same === true) return { total: 0, listed: [] };
    const found = await differences(db, sql);
    // Zeros on one side and nothing on the other are different sums of the same: where every row was looked at, the rows say.
    if (found.total > 0 || scope.all || !sql.includes(FROM)) return found;
    return { total: 1, listed: ['sums differ, because of something that is older than what is looked at row by row: --all tells what'] };
  },
});

/** Collects what differs, and keeps as much as is listed. */
export class Found implements Differences {
  total = 0;
  readonly listed: string[] = [];

  add(what: string): void {
    this.total += 1;
    if (this.listed.length < MOST_LISTED) this.listed.push(what);
  }

  addAll({ total, listed }: Differences): void {
    for (const what of listed) this.add(what);
    this.total += total - listed.length;
  }
}
