import { randomInt } from 'node:crypto';
import { columnArrays } from '#platform/db/column-arrays.ts';
import { dayNumberOf, instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type BoardStanding, bucketsOf, type Mode, upsertStandings } from './standings.ts';

/**
 * Every combination of source, kind and reason of a ledger entry. The audit has a list of its own, so a new combination must be added to both. `kind`
 * is the origin of the points. The origin decides which boards count the points. Points with the kind `conversion` count in all-time totals only. If
 * the ids of a new source contain a time, a migration adds the source to the SQL function `cause_day`.
 */
export const LEDGER_CAUSES = [
  { source: 'score', kind: 'game', reason: 'score' },
  { source: 'score', kind: 'game', reason: 'void' },
  { source: 'score', kind: 'game', reason: 'restore' },
  { source: 'score', kind: 'game', reason: 'second-void' },
  { source: 'score', kind: 'referral', reason: 'referral' },
  { source: 'score', kind: 'referral', reason: 'referral-void' },
  { source: 'score', kind: 'referral', reason: 'referral-restore' },
  { source: 'score', kind: 'referral', reason: 'referral-second-void' },
  { source: 'ban', kind: 'referral', reason: 'ban' },
  { source: 'ban', kind: 'referral', reason: 'unban' },
  { source: 'quest', kind: 'quest', reason: 'quest' },
  { source: 'quest', kind: 'quest', reason: 'void' },
  { source: 'quest', kind: 'quest', reason: 'restore' },
  { source: 'conversion', kind: 'conversion', reason: 'conversion' },
  { source: 'adjustment', kind: 'adjustment', reason: 'adjustment' },
  { source: 'quest', kind: 'quest', reason: 'revoke' },
  { source: 'conversion', kind: 'conversion', reason: 'revoke' },
  { source: 'adjustment', kind: 'adjustment', reason: 'revoke' },
] as const;

/** One entry of the ledger. Its cause, which is (source, sourceId, wallet, reason, mode), is unique. */
export type LedgerEntry = (typeof LEDGER_CAUSES)[number] & {
  wallet: string;
  mode: Mode;
  sourceId: string;
  /** Never zero. Negative when points are taken back. */
  points: number;
  /** Whether reward epochs count this entry. */
  rewards: boolean;
  factors?: Record<string, unknown>;
};

/** The time and the UTC day number that all rows of one transaction get. */
export interface OpenDay {
  at: Date;
  day: number;
}

/** Key of the day lock, an advisory lock. Writers of points take it in shared mode; the closing of days takes it in exclusive mode. */
export const DAY_LOCK = 7_001;

const lockDay = statement<{ at: string; day: number }>(
  'lock_day',
  `with lock as materialized (select pg_advisory_xact_lock_shared(${DAY_LOCK}))
   select ${instant('t.at')} as at, ${dayNumberOf('t.at')} as day
   from lock, lateral (select app_now() as at where lock is not null) t`,
);

/** Takes the day lock in shared mode, then reads the clock, so that the closing of this day waits for this transaction. */
export async function openDay(tx: Tx): Promise<OpenDay> {
  const row = (await tx.query(lockDay))[0];
  if (!row) throw new Error('the statement lock_day returned no row');
  return { at: new Date(row.at), day: row.day };
}

/** SQL: inserts entries and counts the inserted ones. @param onConflict the clause `on conflict`, or an empty text if all entries are new */
const insertEntries = (onConflict: string) => `
  with entry as (
     select * from unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::int8[], $12::bool[], $13::jsonb[])
       as e(wallet, mode, kind, reason, source, source_id, points, rewards, factors)),
   inserted as (
     insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, factors, day, at, cause_day)
     select wallet, mode, kind, reason, source, source_id, points, rewards, factors, $1::int, $14::timestamptz, cause_day(source, source_id) from entry
     order by source_id, source, wallet, reason, mode
     ${onConflict} returning wallet, mode, kind, points),
   counted as (
     insert into point_totals as t (day, shard, mode, kind, points, entries)
     select $1::int, $15::smallint, mode, kind, sum(points), count(*) from inserted group by mode, kind order by mode, kind
     on conflict (day, shard, mode, kind) do update set points = t.points + excluded.points, entries = t.entries + excluded.entries),
   fed as (
     select 'global' as board, mode, wallet, points, kind from inserted
     union all select case kind when 'quest' then 'quests' else 'referrals' end, mode, wallet, points, kind from inserted where kind in ('quest', 'referral')),
   summed as (
     select board, mode, wallet, sum(points)::int8 as all_time, coalesce(sum(points) filter (where kind <> 'conversion'), 0)::int8 as in_period
     from fed group by board, mode, wallet)
   ${upsertStandings('summed', (a, b) => `${a} + ${b}`)}`;

const appendEntries = statement<BoardStanding>('append_points', insertEntries('on conflict do nothing'));
// Without the clause, PostgreSQL does not look for an equal entry before each insertion.
const appendNewEntries = statement<BoardStanding>('append_new_points', insertEntries(''));

const entryColumns = columnArrays<LedgerEntry>(
  (e) => e.wallet,
  (e) => e.mode,
  (e) => e.kind,
  (e) => e.reason,
  (e) => e.source,
  (e) => e.sourceId,
  (e) => e.points,
  (e) => e.rewards,
  (e) => (e.factors ? JSON.stringify(e.factors) : null),
);

/** Number of rows per counter. A writer picks one of them at random, so that concurrent writers rarely lock the same row. */
export const COUNTER_SHARDS = 16;

/**
 * Appends entries to the ledger, and adds the points of the inserted entries to the standings. No other function writes points. Skips an entry if the
 * ledger has an entry with the same source, sourceId, wallet, reason and mode.
 * @param areNew true if `tx` also inserts the causes, so that none of the entries exists yet. The transaction fails if one exists
 * @returns the changed standings, with their new totals and versions
 */
export async function appendPoints(tx: Tx, open: OpenDay, entries: readonly LedgerEntry[], { areNew = false } = {}): Promise<BoardStanding[]> {
  if (entries.length === 0) return [];
  const rows = await tx.query(areNew ? appendNewEntries : appendEntries, [
    ...bucketsOf(open.day),
    ...entryColumns(entries),
    open.at.toISOString(),
    randomInt(COUNTER_SHARDS),
  ]);
  // Without `areNew`, entries may have been skipped. Points of games count on one board only.
  if (!areNew || !entries.every(({ kind }) => kind === 'game')) return rows;
  const gained = new Map<string, number>();
  for (const { mode, wallet, points } of entries) gained.set(`${mode} ${wallet}`, points + (gained.get(`${mode} ${wallet}`) ?? 0));
  return rows.map((row) => ({ ...row, gained: gained.get(`${row.mode} ${row.wallet}`) ?? 0 }));
}
