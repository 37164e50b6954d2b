import { bucketOf, bucketStart } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { firstId, isRelation, monthText, ofMonth, type Relation } from './months.ts';
import { lineChecksum, rowLines } from './row-text.ts';

/** Number of full months between a month and the month in which it is closed. Until then operators can still decide about its scores. */
const OPEN_MONTHS = 2;

/** A closed partition whose rows are not all counted. */
interface Uncounted {
  readonly relation: string;
  readonly month: number;
  readonly columns: string[];
  readonly blocks: number;
  readonly counted: number;
}

const selectUncounted = statement<Uncounted>(
  'select_uncounted_partition',
  `select relation, month, columns, blocks, counted from closed_partitions where closed_at is null and counted < blocks
   order by month, relation limit 1 for update skip locked`,
);
const addCounted = statement(
  'add_counted_rows',
  `update closed_partitions set counted = $3, row_count = row_count + $4::int8, checksum = checksum + $5::numeric where relation = $1 and month = $2`,
);
/** Closes the partitions whose rows are counted, and of whose rows none was written on the day $1 or later. */
const closeCounted = statement<{ month: number }>(
  'close_counted_partitions',
  `update closed_partitions k set closed_at = app_now() where closed_at is null and counted = blocks
     and not exists (select from closed_sums s where s.relation = k.relation and s.month = k.month and s.day >= $1)
   returning month`,
);

/** The SQL that groups the rows `r` of a slice: the mode, kind, source, reason and points of `closed_sums`. */
const SUMMED: Partial<Record<Relation, string>> = {
  ledger: 'mode, kind, source, reason, points',
  activities: `'', kind, '', '', 0`,
};

const MONTH_OF_DAY = `(extract(year from date '1970-01-01' + day) * 12 + extract(month from date '1970-01-01' + day) - 1)::int`;
/** Whether the best score of the present slice is better than the best score of the slices before it, or equal and earlier. */
const IS_BETTER = '(excluded.best, c.best_at) > (coalesce(c.best, -1), excluded.best_at)';
const addToGames = (rows: string) => `
  insert into carried_games as c (wallet, month, mode, game_id, paid_month, plays, scores, points, best, best_score, best_at, normalized) ${rows}
  on conflict (wallet, month, mode, game_id, paid_month) do update set plays = c.plays + excluded.plays, scores = c.scores + excluded.scores,
    points = c.points + excluded.points, best = greatest(c.best, excluded.best),
    best_score = case when ${IS_BETTER} then excluded.best_score else c.best_score end,
    best_at = case when ${IS_BETTER} then excluded.best_at else c.best_at end, normalized = c.normalized + excluded.normalized`;
/** The SQL that adds the rows of a slice to the sums per wallet. The audit compares standings, tallies and counters with these sums. */
const CARRIED: Partial<Record<Relation, (month: number, slice: string) => string>> = {
  ledger: (month, slice) => `
    insert into carried_points as c (wallet, month, mode, kind, paid_month, referred, points, row_count)
    select wallet, ${month}, mode, kind, ${MONTH_OF_DAY}, coalesce(factors->>'referred', ''), sum(points), count(*) from ${slice} group by 1, 3, 4, 5, 6
    on conflict (wallet, month, mode, kind, paid_month, referred)
      do update set points = c.points + excluded.points, row_count = c.row_count + excluded.row_count`,
  plays: (month, slice) =>
    addToGames(
      `select wallet, ${month}, mode, game_id, ${month}, count(*), 0, 0, null::int, null::int8, null::timestamptz, 0 from ${slice} group by wallet, mode, game_id`,
    ),
  scores: (month, slice) =>
    addToGames(`
      select wallet, ${month}, mode, game_id, ${MONTH_OF_DAY},
        count(*) filter (where play_id is null or mode = 'regular' and exists (select from plays p where p.id = play_id and p.mode = 'beta')),
        count(*) filter (where accepted), coalesce(sum(points) filter (where accepted), 0), max(normalized) filter (where accepted),
        (array_agg(score order by normalized desc, day, id) filter (where accepted))[1], (array_agg(at order by normalized desc, day, id) filter (where accepted))[1],
        coalesce(sum(normalized) filter (where accepted), 0)
      from (select *, status = 'accepted' as accepted from ${slice}) s group by 1, 3, 4, 5`),
};

/**
 * The SQL that deletes rows which a slice of a sealed month does not need any more: the seeds of plays without a replay, because no score of these plays can
 * be recorded now.
 */
const DISCARDED: Partial<Record<Relation, (slice: string) => string>> = {
  plays: (slice) => `
    delete from play_seeds p using (select id from ${slice}) play where p.play_id = play.id
      and not exists (select from score_plays s join score_replays r on r.score_id = s.score_id where s.play_id = play.id)`,
};

/** Counts the next slice of a closed partition. @returns false when no partition has uncounted rows that another process is not counting */
async function countSlice(tx: Tx, sliceBlocks: number): Promise<boolean> {
  const [next] = await tx.query(selectUncounted);
  if (!next || !isRelation(next.relation)) return false;
  const { relation, month, columns, counted } = next;
  const until = Math.min(next.blocks, counted + sliceBlocks);
  const slice = `${relation} where ${ofMonth(relation, month)} and ctid >= '(${counted},0)' and ctid < '(${until},0)'`;
  await tx.query({ text: `set local time zone 'UTC'` });
  const [sum] = await tx.query<{ rows: string; checksum: string }>({
    text: `select count(*)::text as rows, coalesce(sum(${lineChecksum('line')}), 0)::text as checksum from (${rowLines(columns, slice)}) l`,
  });
  if (!sum) throw new Error('the sums of a closed partition were not returned');
  const summed = SUMMED[relation];
  if (summed !== undefined) {
    await tx.query({
      text: `
        insert into closed_sums as s (relation, month, day, mode, kind, source, reason, row_count, points)
        select '${relation}', ${month}, day, mode, kind, source, reason, count(*), sum(points)
        from (select day, ${summed} from ${slice}) r(day, mode, kind, source, reason, points) group by day, mode, kind, source, reason
        on conflict (relation, month, day, mode, kind, source, reason)
          do update set row_count = s.row_count + excluded.row_count, points = s.points + excluded.points`,
    });
  }
  const carried = CARRIED[relation];
  if (carried !== undefined) await tx.query({ text: carried(month, slice) });
  const discarded = DISCARDED[relation];
  if (discarded !== undefined) await tx.query({ text: discarded(slice) });
  await tx.query(addCounted, [relation, month, until, sum.rows, sum.checksum]);
  return true;
}

const selectNextMonth = statement<{ month: number | null; today: number; isShifted: boolean }>(
  'select_next_month_to_close',
  `select (select min(left(right(c.relname, 7), 4)::int * 12 + right(c.relname, 2)::int - 1) from pg_inherits i
       join pg_class p on p.oid = i.inhparent and p.relkind = 'p' and p.relnamespace = 'public'::regnamespace
       join pg_class c on c.oid = i.inhrelid and c.relname ~ '_[0-9]{4}_[0-9]{2}$'
     where not exists (select from closed_partitions k where k.relation = p.relname
       and k.month = left(right(c.relname, 7), 4)::int * 12 + right(c.relname, 2)::int - 1)) as month,
     (select app_day()) as today, exists (select from app_clock) as "isShifted"`,
);
/**
 * Selects whether rows of causes before the day $1 are still to be written: held scores, activities in a queue, and burns that are not read yet. A decision
 * about an old score is a new activity, whose consumers write rows of the month of the score. $2: the first id of the day $1.
 */
const selectPending = statement<{ pending: boolean }>(
  'select_pending_before',
  `select exists (select from scores where status = 'held' and id < $2::uuid)
     or exists (select from activity_batches b where b.day < $1::int
       or exists (select from json_array_elements(b.activities) a where cause_day(a ->> 0, a ->> 1) between 1 and $1::int - 1))
     or exists (select from burn_events where state <> 'pending' and final_at is null and activated_at < to_timestamp($1::int * 86400.0)) as pending`,
);
const seal = statement<{ sealed: number }>('seal_month', 'select seal_month($1) as sealed');

/**
 * Refuses all further writes to the oldest month that is not closed, if the month ended long enough ago and nothing of the month is pending.
 * @param closesWhenShifted see `Limits`
 */
export async function sealNextMonth(app: App, closesWhenShifted: boolean): Promise<void> {
  const [next] = await app.db.query(selectNextMonth);
  if (!next || next.month === null || (next.isShifted && !closesWhenShifted)) return;
  if (next.month + OPEN_MONTHS >= bucketOf('month', next.today)) return;
  const { month } = next;
  const end = bucketStart('month', month + 1);
  await app.tx(async (tx) => {
    const isPending = async () => (await tx.query(selectPending, [end, firstId(end)]))[0]?.pending !== false;
    if (await isPending()) return;
    await tx.query(seal, [month]);
    // A decision may have been committed after the first check. `seal` has waited for it and locks out the next ones.
    if (await isPending()) throw new Error(`rows of ${monthText(month)} are still to be written, so the month stays open until the next run`);
  });
}

/**
 * Counts the rows of sealed months, and closes the months whose rows are counted. The work of a killed process is not lost, because each slice of rows
 * is counted in a transaction of its own.
 * @param sliceBlocks the number of blocks that one transaction reads
 * @param isTimeUp returns whether to stop after the present slice
 */
export async function countClosedMonths(app: App, sliceBlocks: number, isTimeUp: () => boolean): Promise<void> {
  while (!isTimeUp()) if (!(await app.tx((tx) => countSlice(tx, sliceBlocks)))) break;
  await app.tx(async (tx) => {
    const [{ today } = { today: 0 }] = await tx.query(selectNextMonth);
    await tx.query(closeCounted, [bucketStart('month', bucketOf('month', today) - 1)]);
  });
}
