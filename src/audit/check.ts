import type { Redis } from 'ioredis';
import type { Chain } from '../chain/solana.ts';
import type { Config } from '../config.ts';
import type { Queryable } from '../db/sql.ts';
import type { Storage } from '../storage/storage.ts';

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

/** The moment of the snapshot, its UTC day, and the first day that is compared row by row: for SQL. Each is read once per statement. */
export const AT = `(select current_setting('audit.at')::timestamptz)`;
export const DAY = `(select current_setting('audit.day')::int)`;
export const FROM = `(select current_setting('audit.from')::int)`;

/** Notes what `AT`, `DAY` and `FROM` are. The first statement of a snapshot. */
export const noteMoment = ({ days, all }: Scope) => `
  select set_config('audit.at', at::text, true), set_config('audit.day', day::text, true),
    set_config('audit.from', (case when ${all} then 0 else day - ${Math.trunc(days)} end)::text, true)
  from (select app_now() as at) t, lateral (select floor(extract(epoch from at) / 86400)::int as day) d`;

/** Of everything that a statement finds, how much there is, and the first. @param sql rows of one column, `what`: a sentence each */
export async function differences(db: Queryable, sql: string): Promise<Differences> {
  const text = `select what, count(*) over ()::int as total from (${sql}) found order by what limit ${MOST_LISTED}`;
  const rows = await db.query<{ what: string; total: number }>({ text });
  return { total: rows[0]?.total ?? 0, listed: rows.map(({ what }) => what) };
}

/** A check of the record against itself. @param sql see `differences` */
export const recordCheck = (name: string, invariant: string, sql: string | ((audit: Audit) => string)): Check => ({
  name,
  invariant,
  run: (audit) => differences(audit.db, typeof sql === 'string' ? sql : sql(audit)),
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
