import { PERIODS } from '../lib/periods.ts';
import { DAYS, TODAY } from './buckets.ts';
import { AT, inSlice, recordCheck, summedCheck, weight } from './check.ts';

const SPANS = ['total', ...PERIODS] as const;

/** A CTE: what standings say, each span of it. A bucket that is over counts as nothing. */
const STOOD = `stood as (
  select board, mode, wallet, s.total, ${PERIODS.map((p) => `case when s.${p} = today.${p} then s.${p}_value else 0 end as ${p}`).join(', ')}
  from standings s, today)`;

const since = (period: string) => `day >= (select ${period}_first from today)`;
const shown = (of: string) => `concat_ws('/', ${SPANS.map((span) => `coalesce(${of}.${span}::text, '-')`).join(', ')})`;
const differs = (a: string, b: string) => SPANS.map((span) => `${a}.${span} is distinct from ${b}.${span}`).join(' or ');
const OF_SPANS = '(of all time/today/this week/month/year)';

/** A CTE's body: the rows of the ledger as the boards take them. */
const fed = (columns: string, where = 'true') => `
  select 'global' as board, ${columns} from ledger where ${where}
  union all select case kind when 'quest' then 'quests' else 'referrals' end, ${columns} from ledger where ${where} and kind in ('quest', 'referral')`;

const BOARDS = `('global', 'quests', 'referrals')`;
/** A CTE: the last day, week, month and year whose finals are stored, and their days. */
const COUNTED = `ended as materialized (select distinct on (period) period, bucket from closed_periods where finals_at is not null order by period, bucket desc),
  counted as materialized (
    select e.period, e.bucket, d.day from ended e, days d where e.bucket = case e.period ${PERIODS.map((p) => `when '${p}' then d.${p}`).join(' ')} end)`;
const sum = (points: string) => `coalesce(sum(${points} * w), 0)`;

/** The ledger, and what is added up from it. */
export const pointChecks = [
  summedCheck(
    'standings',
    'points of the ledger add up to the standings, of all time and of the running day, week, month and year',
    [
      `with ${TODAY}, fed as (${fed(`${weight('wallet', 'mode')} as w, points, kind, day`)})
       select board, ${sum('points')} as total, ${PERIODS.map((p) => `coalesce(sum(points * w) filter (where ${since(p)} and kind <> 'conversion'), 0) as ${p}`).join(', ')}
       from fed group by 1`,
      `with ${TODAY}, ${STOOD}
       select board, ${SPANS.map((span) => `${sum(span)} as ${span}`).join(', ')}
       from (select *, ${weight('wallet', 'mode')} as w from stood where board in ${BOARDS}) s group by 1`,
    ],
    `with ${TODAY}, ${STOOD}, fed as (${fed('mode, wallet, points, kind, day')}),
     summed as (
       select board, mode, wallet, sum(points) as total,
         ${PERIODS.map((p) => `coalesce(sum(points) filter (where ${since(p)} and kind <> 'conversion'), 0) as ${p}`).join(', ')}
       from fed group by board, mode, wallet)
     select format('%s, %s: %s has %s in the ledger and %s in the standings ${OF_SPANS}', board, mode, wallet, ${shown('l')}, ${shown('s')}) as what
     from summed l full join (select * from stood where board in ${BOARDS}) s using (board, mode, wallet)
     where ${differs('l', 's')}`,
  ),
  recordCheck(
    'game-boards',
    'the best accepted score of a wallet in a game is its standing, of all time and of the running day, week, month and year; of an eighth of the wallets, another each day',
    ({ scope }) => `with ${TODAY}, ${STOOD},
     bests as (
       select 'game:' || game_id as board, mode, wallet, max(normalized) as total,
         ${PERIODS.map((p) => `coalesce(max(normalized) filter (where ${since(p)}), 0) as ${p}`).join(', ')}
       from scores where status = 'accepted' and ${inSlice(scope)} group by game_id, mode, wallet)
     select format('%s, %s: %s has bests of %s in its scores and %s in the standings ${OF_SPANS}', board, mode, wallet, ${shown('b')}, ${shown('s')}) as what
     from bests b full join (select * from stood where board like 'game:%' and ${inSlice(scope)}) s using (board, mode, wallet)
     where case when b.total is null then s.total + ${PERIODS.map((p) => `s.${p}`).join(' + ')} <> 0 else ${differs('b', 's')} end`,
  ),
  recordCheck(
    'point-totals',
    'the counters of points by day are those of the ledger',
    `select format('day %s, %s %s: %s points in %s entries in the ledger, %s in %s in the counters', day, mode, kind, l.points, l.entries, t.points, t.entries) as what
     from (select day, mode, kind, sum(points) as points, count(*) as entries from ledger group by 1, 2, 3) l
     full join (select day, mode, kind, sum(points) as points, sum(entries) as entries from point_totals group by 1, 2, 3) t using (day, mode, kind)
     where (l.points, l.entries) is distinct from (t.points, t.entries)`,
  ),
  summedCheck(
    'finals',
    'the final ranks of the last day, week, month and year that were closed follow from the ledger',
    [
      `with ${DAYS}, ${COUNTED}, fed as (${fed(`${weight('wallet')} as w, points, day`, `mode = 'regular' and kind <> 'conversion' and day in (select day from counted)`)})
       select board, period, bucket, ${sum('points')} as sum from fed join counted using (day) group by 1, 2, 3`,
      `with ${DAYS}, ${COUNTED}
       select board, period, bucket, ${sum('value')} as sum from (select *, ${weight('wallet')} as w from finals) f join ended using (period, bucket)
       where board in ${BOARDS} group by 1, 2, 3`,
    ],
    `with ${DAYS}, ${COUNTED},
     fed as (${fed('wallet, points, day', `mode = 'regular' and kind <> 'conversion' and day in (select day from counted)`)}),
     summed as (
       select board, period, bucket, wallet, sum(points) as value from fed join counted using (day) group by 1, 2, 3, 4 having sum(points) > 0),
     ranked as (
       select *, rank() over (partition by board, period, bucket order by value desc) as rank,
         row_number() over (partition by board, period, bucket order by value desc, wallet collate "C" desc) as position from summed)
     select format('%s of %s %s: %s has %s points, rank %s, position %s in the ledger and %s, %s, %s in the finals', board, period, bucket, wallet,
       r.value, r.rank, r.position, f.value, f.rank, f.position) as what
     from ranked r full join (select f.* from finals f join ended using (period, bucket) where board in ${BOARDS}) f
       using (board, period, bucket, wallet)
     where (r.value, r.rank, r.position) is distinct from (f.value, f.rank, f.position)`,
    () => `with ${DAYS}, ${COUNTED}
     select format('%s of %s %s: %s, with %s points, rank %s and position %s, does not follow the one before', board, period, bucket, wallet, value, rank, position) as what
     from (
       select f.*, row_number() over places as n, lag(value) over places as more, lag(wallet) over places as before, lag(rank) over places as ahead
       from finals f join ended using (period, bucket) where board in ${BOARDS}
       window places as (partition by board, period, bucket order by position)) f
     where position <> n or value > more or rank <> case when value = more then ahead else n end or (value = more and wallet >= before)`,
  ),
  recordCheck(
    'periods',
    'every day, week, month and year that ended an hour ago is closed, and its finals are stored',
    `with ${DAYS},
     begun as (select coalesce((select min(bucket) from closed_periods where period = 'day'), (select min(day) from point_totals)) as day),
     due as (
       select distinct p.period, p.bucket
       from begun b, days d, lateral (values ${PERIODS.map((p) => `('${p}', d.${p})`).join(', ')}) p(period, bucket)
       where d.day >= b.day and d.day <= floor((extract(epoch from ${AT}) - 3600) / 86400)),
     ended as (select period, bucket from (select *, max(bucket) over (partition by period) as running from due) d where bucket < running)
     select format('%s %s is not closed', period, bucket) as what from ended e
     where not exists (select from closed_periods c where c.period = e.period and c.bucket = e.bucket)
     union all select format('the finals of %s %s are not stored', period, bucket) from closed_periods
     where finals_at is null and closed_at < ${AT} - interval '1 hour'`,
  ),
  recordCheck(
    'board-refreshes',
    'what standings have to show on boards is shown within a minute',
    `select format('%s: %s waits since %s', board, wallet, at) as what from board_refreshes where at < ${AT} - interval '1 minute'`,
  ),
];
