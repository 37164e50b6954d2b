import { type Queryable, statement } from '../../db/sql.ts';
import type { Tx } from '../../tx.ts';
import type { Happened } from '../points/points.ts';
import type { Metric } from './progress.ts';
import { cover } from './windows.ts';

/** Days (span 1) and ISO weeks (span 7), and the first day of the one that `day` is in. */
const SPANS = '(values (1), (7)) as span(span)';
const firstDay = (day: string) => `case span.span when 1 then ${day} else ${day} - (${day} + 3) % 7 end`;

const upsert = statement(
  'upsert_wallet_metrics',
  // Amounts are read where they are exact.
  `with happened as (
     select a.wallet, a.day, a.kind, coalesce(a.game_id, '') as subject, count(*)::int as count, max(a.amount) as best, sum(a.amount) as sum
     from unnest($1::text[], $2::text[]) as k(kind, source_id), lateral (
       select wallet, day, kind, game_id, amount from activities where source_id = k.source_id and kind = k.kind offset 0) a
     group by 1, 2, 3, 4)
   insert into wallet_metrics as m (wallet, span, first_day, kind, subject, count, best, sum)
   select wallet, span.span, ${firstDay('day')}, kind, subject, sum(count), max(best), sum(sum) from happened, ${SPANS} group by 1, 2, 3, 4, 5
   order by 1, 2, 3, 4, 5
   on conflict (wallet, span, first_day, kind, subject) do update
   set count = m.count + excluded.count, best = greatest(m.best, excluded.best), sum = m.sum + excluded.sum`,
);

/**
 * Takes voided scores off the days on which they were accepted. The best is that of all scores that are not voided, also of those which
 * are to be counted yet: a maximum may come early.
 */
const takeBack = statement(
  'take_back_wallet_metrics',
  `with gone as (
     select s.wallet, span.span, ${firstDay('s.day')} as first_day, coalesce(s.game_id, '') as subject, count(*) as count, sum(s.amount) as sum
     from unnest($1::text[]) as v(source_id), lateral (
       select wallet, day, game_id, amount from activities where source_id = v.source_id and kind = 'score' offset 0) s, ${SPANS}
     group by 1, 2, 3, 4)
   update wallet_metrics m set count = greatest(m.count - g.count, 0), sum = greatest(m.sum - g.sum, 0), best = coalesce((
     select max(a.amount) from activities a
     where a.wallet = g.wallet and a.kind = 'score' and a.day >= g.first_day and a.day < g.first_day + g.span and coalesce(a.game_id, '') = g.subject
       and not exists (select from activities v where v.source_id = a.source_id and v.kind = 'void')), 0)
   from gone g
   where m.wallet = g.wallet and m.span = g.span and m.first_day = g.first_day and m.kind = 'score' and m.subject = g.subject`,
);

/** Counts activities, once each: call it in the transaction that marks them as consumed. */
export async function countActivities(tx: Tx, activities: readonly Happened[]): Promise<void> {
  const voids = activities.filter(({ kind }) => kind === 'void');
  const others = activities.filter(({ kind }) => kind !== 'void');
  // In this order: a score and its void may come together.
  await Promise.all([
    others.length > 0 && tx.query(upsert, [others.map(({ kind }) => kind), others.map(({ sourceId }) => sourceId)]),
    voids.length > 0 && tx.query(takeBack, [voids.map(({ sourceId }) => sourceId)]),
  ]);
}

/** What is to be read: a wallet's metrics between two UTC days, both inclusive. */
export interface Span {
  readonly wallet: string;
  readonly first: number;
  readonly last: number;
}

/** Activities of today and yesterday that are not counted yet. Their marks and the metrics change in one commit: one statement sees either. */
const NOT_YET = `(consumed & 2) = 0 and day >= (select app_day()) - 1 and kind <> 'void'`;

const selectMetrics = (open: string) =>
  `select r.n, m.kind, m.about as subject, sum(m.count)::int as count, max(m.best)::float8 as best,
          sum(case when m.kind = 'burn' then m.sum else 0 end)::text as sum
   from unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::int[]) as r(wallet, span, first, last, n), lateral (
     select kind, case when subject = any($7::text[]) then subject else '' end as about, count, best, sum from (
       select kind, subject, count, best, sum from wallet_metrics
       where wallet = r.wallet and span = r.span and first_day between r.first and r.last and kind = any($6::text[]) ${open}) c
     where subject = any($7::text[]) or kind not in ('play', 'score') or subject <> all($8::text[]) offset 0) m
   group by 1, 2, 3`;
const readCounted = statement<Metric & { n: number }>('read_wallet_metrics', selectMetrics(''));
const readAll = statement<Metric & { n: number }>(
  'read_all_wallet_metrics',
  selectMetrics(`union all
       select kind, coalesce(game_id, ''), 1, amount, amount from activities
       where wallet = r.wallet and kind = any($6::text[]) and day between r.first and r.last + r.span - 1 and ${NOT_YET}`),
);

/** Which metrics are read. */
export interface Wanted {
  readonly kinds: readonly string[];
  /** Games and burn events that are told apart; the others come as one, ''. */
  readonly subjects: readonly string[];
  /** Games whose plays and scores are left out where they are not told apart. */
  readonly unrewarded: readonly string[];
}

/**
 * Reads metrics, one list per span.
 * @param fresh also what is not counted yet: for single wallets
 */
export async function readMetrics(db: Queryable, spans: readonly Span[], wanted: Wanted, fresh = false): Promise<Metric[][]> {
  const metrics: Metric[][] = spans.map(() => []);
  const ranges = spans.flatMap(({ wallet, first, last }, n) => cover(first, last).map((range) => ({ wallet, n, ...range })));
  if (ranges.length === 0 || wanted.kinds.length === 0) return metrics;
  const rows = await db.query(fresh ? readAll : readCounted, [
    ranges.map((r) => r.wallet),
    ranges.map((r) => r.span),
    ranges.map((r) => r.first),
    ranges.map((r) => r.last),
    ranges.map((r) => r.n),
    [...new Set(wanted.kinds)],
    [...new Set(wanted.subjects)],
    wanted.unrewarded,
  ]);
  for (const row of rows) metrics[row.n]?.push(row);
  return metrics;
}

const selectDays = (open: string) =>
  `select w.wallet, array(
     select first_day from wallet_metrics m
     where m.wallet = w.wallet and span = 1 and first_day between $2 and $3 and kind <> 'bind' and count > 0 ${open}) as days
   from unnest($1::text[]) as w(wallet)`;
const readDays = statement<{ wallet: string; days: number[] }>('read_active_days', selectDays(''));
const readAllDays = statement<{ wallet: string; days: number[] }>(
  'read_all_active_days',
  selectDays(`union all select day from activities a where a.wallet = w.wallet and kind <> 'bind' and day between $2 and $3 and ${NOT_YET}`),
);

/** Days on which wallets did anything; `streakOn` tells the streak. */
export type ActiveDays = ReadonlyMap<string, ReadonlySet<number>>;

/** Reads on which UTC days wallets were active, between two days. */
export async function readActiveDays(db: Queryable, wallets: readonly string[], first: number, last: number, fresh = false): Promise<ActiveDays> {
  if (wallets.length === 0) return new Map();
  const rows = await db.query(fresh ? readAllDays : readDays, [[...new Set(wallets)], first, last]);
  return new Map(rows.map(({ wallet, days }) => [wallet, new Set(days)]));
}

/** Consecutive active days up to a day, or the one before it. */
export function streakOn(days: ReadonlySet<number> | undefined, day: number): number {
  if (!days) return 0;
  const last = days.has(day) ? day : day - 1;
  let first = last;
  while (days.has(first)) first -= 1;
  return last - first;
}
