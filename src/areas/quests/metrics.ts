import { acceptedDay } from '#areas/arcade';
import { type ActivityEvent, DECISIONS, isAction, isVoiding } from '#areas/points';
import { daysBefore, newId, tomorrow } from '#lib/ids.ts';
import { columnArrays } from '#platform/db/column-arrays.ts';
import { dayNumberOf, idBetween, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Metric } from './progress.ts';

/** Returns the day number of the Monday in the ISO week of a day. */
const mondayOf = (day: number) => day - ((day + 3) % 7);
const WEEKDAYS = [1, 2, 3, 4, 5, 6, 7];
const perWeekday = (join: (i: number) => string) => `array[${WEEKDAYS.map(join).join(', ')}]`;

/**
 * Returns the statement that adds the totals of one weekday to `wallet_weeks`. $1 is the weekday: 1 is Monday.
 * @param sums true for burns, the only activities with sums of amounts. For other activities the column `sums` must stay null, so the statement does
 * not assign to this column
 */
const upsert = (name: string, sums: boolean) =>
  statement(
    name,
    `insert into wallet_weeks as m (wallet, week, kind, subject, counts, bests, sums)
     select wallet, week, kind, subject, ${perWeekday((i) => `case when $1 = ${i} then count else 0 end`)},
       ${perWeekday((i) => `case when $1 = ${i} then best else 0 end`)}, ${sums ? perWeekday((i) => `case when $1 = ${i} then sum else 0 end`) : 'null'}
     from unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::int[], $7::int8[], $8::numeric[]) as h(wallet, week, kind, subject, count, best, sum)
     order by 1, 2, 3, 4
     on conflict (wallet, week, kind, subject) do update set
       counts[$1] = m.counts[$1] + excluded.counts[$1], bests[$1] = greatest(m.bests[$1], excluded.bests[$1])${sums ? ', sums[$1] = m.sums[$1] + excluded.sums[$1]' : ''}`,
  );
const countWeeks = upsert('count_wallet_weeks', false);
const countBurns = upsert('count_burns_of_wallet_weeks', true);

/** Totals of one wallet, day, activity kind and subject (a game, a burn event or ''). `week` is the day number of the Monday of the week. */
interface DailyTotal {
  readonly wallet: string;
  readonly week: number;
  readonly weekday: number;
  readonly kind: string;
  readonly subject: string;
  count: number;
  best: bigint;
  sum: bigint;
}

/** Adds up activities per wallet, day, kind and subject. */
function totalPerDay(activities: readonly ActivityEvent[]): DailyTotal[] {
  const all = new Map<string, DailyTotal>();
  for (const { wallet, day, kind, gameId, amount } of activities) {
    const subject = gameId ?? '';
    const key = `${wallet} ${day} ${kind} ${subject}`;
    const done = all.get(key);
    if (done === undefined) {
      const week = mondayOf(day);
      all.set(key, { wallet, week, weekday: day - week + 1, kind, subject, count: 1, best: amount, sum: amount });
      continue;
    }
    done.count += 1;
    done.sum += amount;
    if (amount > done.best) done.best = amount;
  }
  return [...all.values()];
}

const countedColumns = columnArrays<DailyTotal>(
  (t) => t.wallet,
  (t) => t.week,
  (t) => t.kind,
  (t) => t.subject,
  (t) => t.count,
  (t) => t.best,
  (t) => (t.kind === 'burn' ? t.sum : null),
);

/**
 * Subtracts voided scores ($3: -1) from the counts of the weekday ($2) on which the scores were accepted, and adds restored scores ($3: 1). Sets the
 * best score of that day to the maximum of all scores that are not voided. The maximum includes scores that the quest consumer has not counted yet. A score was
 * accepted on its day, or at midnight on a day beside it.
 */
const countVoiding = statement(
  'count_voided_scores',
  `with voided as (
     select s.wallet, s.day, s.game_id as subject, sum(v.change)::int as count
     from unnest($1::text[], $3::int[]) as v(source_id, change), lateral (
       select s.wallet, ${acceptedDay('s')} as day, s.game_id from scores s where s.id = v.source_id::uuid offset 0) s
     where (s.day + 3) % 7 = $2 - 1 group by 1, 2, 3)
   update wallet_weeks m set counts[$2] = greatest(m.counts[$2] + g.count, 0), bests[$2] = coalesce((
     select max(s.normalized) from scores s
     where s.wallet = g.wallet and s.game_id = g.subject and s.status = 'accepted' and s.day between g.day - 1 and g.day + 1
       and ${acceptedDay('s')} = g.day), 0)
   from voided g
   where m.wallet = g.wallet and m.week = g.day - ($2 - 1) and m.kind = 'score' and m.subject = g.subject`,
);

/** Adds activities to `wallet_weeks`. Precondition: the same transaction marks the activities as consumed, so that each activity counts once. */
export async function countActivities(tx: Tx, activities: readonly ActivityEvent[]): Promise<void> {
  const voiding = activities.filter(({ kind }) => isVoiding(kind));
  const changes = voiding.map(({ kind }) => (kind === 'restore' ? 1 : -1));
  const done = Map.groupBy(totalPerDay(activities.filter(({ kind }) => isAction(kind))), ({ weekday, kind }) =>
    kind === 'burn' ? -weekday : weekday,
  );
  // Sends the statements for voids last, because a batch may contain a score and the void of this score. The connection runs statements in the order
  // in which they are sent.
  await Promise.all([
    ...done.entries().map(([weekday, rows]) => tx.query(weekday < 0 ? countBurns : countWeeks, [Math.abs(weekday), ...countedColumns(rows)])),
    ...WEEKDAYS.map((weekday) => voiding.length > 0 && tx.query(countVoiding, [voiding.map(({ sourceId }) => sourceId), weekday, changes])),
  ]);
}

/** A wallet and a range of UTC day numbers, both inclusive. */
export interface DayRange {
  readonly wallet: string;
  readonly first: number;
  readonly last: number;
}

/** SQL condition: the quest consumer has not processed the batch of a row, which is an activity, a play or a score. */
const IS_UNCOUNTED = `exists (select from activity_batches where id = batch and (consumed & 2) = 0)`;
/**
 * Returns SQL that selects the activities of a wallet of today and yesterday that the quest consumer has not counted yet. One transaction marks activities as
 * consumed and adds them to the totals. So a query that adds these uncounted activities to the totals never counts an activity twice.
 * @param wallet SQL expression
 * @param first SQL expression of the first id of `recentIds`
 * @param last SQL expression of the last id of `recentIds`
 */
const uncounted = (wallet: string, first: string, last: string) => `
  select kind, coalesce(game_id, '') as subject, amount, day from activities
  where wallet = ${wallet} and kind not in (${DECISIONS}) and day >= (select app_day()) - 1 and ${IS_UNCOUNTED}
  union all select 'play', game_id, 0, ${dayNumberOf('started_at')} from plays
  where wallet = ${wallet} and started_at >= to_timestamp(((select app_day()) - 1) * 86400.0) and ${idBetween('id', first, last)} and ${IS_UNCOUNTED}
  union all select 'score', game_id, normalized, day from scores
  where wallet = ${wallet} and day >= (select app_day()) - 1 and ${idBetween('id', first, last)} and ${IS_UNCOUNTED}`;
/** Returns UUIDs between which the ids of all plays and scores since yesterday are, so that PostgreSQL skips the partitions of other months. */
const recentIds = (): [first: string, last: string] => [daysBefore(newId(), 3), tomorrow()];

/** SQL that turns a row with seven array elements, one per weekday, into seven rows. */
const DAYS = `unnest(m.counts, m.bests, m.sums) with ordinality as d(count, best, sum, weekday)`;

const selectMetrics = (rest: string) =>
  `select r.n, m.kind, m.about as subject, sum(m.count)::int as count, max(m.best)::float8 as best, sum(coalesce(m.sum, 0))::text as sum
   from unnest($1::text[], $2::int[], $3::int[], $4::int[]) as r(wallet, first, last, n), lateral (
     select kind, case when subject = any($6::text[]) then subject else '' end as about, count, best, sum from (
       select kind, subject, count, best, sum from wallet_weeks m, ${DAYS}
       where wallet = r.wallet and week between r.first - 6 and r.last and kind = any($5::text[])
         and week + weekday - 1 between r.first and r.last and count > 0 ${rest}) c
     where subject = any($6::text[]) or kind not in ('play', 'score') or subject <> all($7::text[]) offset 0) m
   group by 1, 2, 3`;
const readCounted = statement<Metric & { n: number }>('read_wallet_weeks', selectMetrics(''));
const readAll = statement<Metric & { n: number }>(
  'read_all_wallet_weeks',
  selectMetrics(`union all
       select kind, subject, 1, amount, case when kind = 'burn' then amount end from (${uncounted('r.wallet', '$8::uuid', '$9::uuid')}) u
       where kind = any($5::text[]) and day between r.first and r.last`),
);

/** Filter for the metrics to read. */
export interface MetricFilter {
  readonly kinds: readonly string[];
  /** Games and burn events that get a metric of their own. All other games and burn events are added up in one metric with the subject ''. */
  readonly subjects: readonly string[];
  /** Games whose plays and scores are left out of the metric with the subject ''. */
  readonly unrewarded: readonly string[];
}

/**
 * Reads the metrics of wallets in ranges of days.
 * @param includeUncounted whether to add activities that the quest consumer has not counted yet; only for single wallets
 * @returns one list of metrics per range, in the order of `ranges`
 */
export async function readMetrics(db: Queryable, ranges: readonly DayRange[], wanted: MetricFilter, includeUncounted = false): Promise<Metric[][]> {
  const metrics: Metric[][] = ranges.map(() => []);
  if (ranges.length === 0 || wanted.kinds.length === 0) return metrics;
  const rows = await db.query(includeUncounted ? readAll : readCounted, [
    ranges.map(({ wallet }) => wallet),
    ranges.map(({ first }) => first),
    ranges.map(({ last }) => last),
    ranges.map((_, n) => n),
    [...new Set(wanted.kinds)],
    [...new Set(wanted.subjects)],
    wanted.unrewarded,
    ...(includeUncounted ? recentIds() : []),
  ]);
  for (const row of rows) metrics[row.n]?.push(row);
  return metrics;
}

const selectDays = (rest: string) =>
  `select w.wallet, array(
     select week + weekday::int - 1 from wallet_weeks m, ${DAYS}
     where m.wallet = w.wallet and week between $2 - 6 and $3 and kind <> 'bind' and count > 0 and week + weekday - 1 between $2 and $3 ${rest}) as days
   from unnest($1::text[]) as w(wallet)`;
const readDays = statement<{ wallet: string; days: number[] }>('read_active_days', selectDays(''));
const readAllDays = statement<{ wallet: string; days: number[] }>(
  'read_all_active_days',
  selectDays(`union all select day from (${uncounted('w.wallet', '$4::uuid', '$5::uuid')}) u where kind <> 'bind' and day between $2 and $3`),
);

/** UTC day numbers on which a wallet was active, by wallet. */
type ActiveDays = ReadonlyMap<string, ReadonlySet<number>>;

/** Reads the UTC days between `first` and `last` (inclusive) on which the wallets were active. */
export async function readActiveDays(
  db: Queryable,
  wallets: readonly string[],
  first: number,
  last: number,
  includeUncounted = false,
): Promise<ActiveDays> {
  if (wallets.length === 0) return new Map();
  const rows = await db.query(includeUncounted ? readAllDays : readDays, [
    [...new Set(wallets)],
    first,
    last,
    ...(includeUncounted ? recentIds() : []),
  ]);
  return new Map(rows.map(({ wallet, days }) => [wallet, new Set(days)]));
}

/** Days before the present day that the first query of `readStreaks` reads, and the factor by which each further query reads more days. */
const FIRST_SPAN = 14;
const SPAN_FACTOR = 4;

/**
 * Reads streaks: the number of consecutive active days that end on `day` or on the day before it. Most streaks need one query; a streak of n days
 * needs about log4(n) queries.
 * @returns one streak per item, in the order of `queries`
 */
export async function readStreaks(
  db: Queryable,
  queries: readonly { readonly wallet: string; readonly day: number }[],
  includeUncounted = false,
): Promise<number[]> {
  const streaks = queries.map(() => 0);
  let open = queries.map((query, i) => ({ ...query, i }));
  for (let span = FIRST_SPAN; open.length > 0; span *= SPAN_FACTOR) {
    const days = open.map(({ day }) => day);
    const first = Math.min(...days) - span;
    const wallets = open.map(({ wallet }) => wallet);
    const active = await readActiveDays(db, wallets, first, Math.max(...days), includeUncounted);
    open = open.filter(({ wallet, day, i }) => {
      const streak = streakOn(active.get(wallet), day);
      streaks[i] = streak;
      // A streak that begins on the first day of the range may have begun earlier.
      const last = active.get(wallet)?.has(day) ? day : day - 1;
      return streak > 0 && last - streak < first;
    });
  }
  return streaks;
}

/** Returns the number of consecutive active days that end on `day` or on the day before it. */
export function streakOn(days: ReadonlySet<number> | undefined, day: number): number {
  if (!days) return 0;
  const last = days.has(day) ? day : day - 1;
  let first = last;
  while (days.has(first)) first -= 1;
  return last - first;
}
