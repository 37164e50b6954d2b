import { PERIODS, type Period } from '#lib/periods.ts';
import { bucketSql, DAYS, firstDaySql } from '../buckets.ts';
import { AT, checksumCheck, DAY, databaseCheck, firstDayOf, IS_OPEN, inSlice, isOpenId, isSummed, POINTS, weight } from '../check.ts';

const SPANS = ['total', ...PERIODS] as const;

/**
 * SQL that selects the standings with one value per span (all time, day, week, month, year). The value of a day, week, month or year is 0 when the
 * stored value is that of an earlier day, week, month or year.
 */
const STANDINGS = `
  select board, mode, wallet, total, ${PERIODS.map((p) => `case when ${p} = ${bucketSql(p, DAY)} then ${p}_value else 0 end as ${p}`).join(', ')} from standings`;

const since = (period: Period) => `day >= ${firstDaySql(period, DAY)}`;
const shown = (of: string) => `concat_ws('/', ${SPANS.map((span) => `coalesce(${of}.${span}::text, '-')`).join(', ')})`;
const differs = (a: string, b: string) => SPANS.map((span) => `${a}.${span} is distinct from ${b}.${span}`).join(' or ');
const OF_SPANS = '(of all time/today/this week/month/year)';

const BOARD_OF_KIND = `case kind when 'quest' then 'quests' when 'referral' then 'referrals' end`;
/**
 * Returns SQL that lists ledger rows (or sums of ledger rows) once per board that counts their points. The board `global` counts all rows; the boards
 * `quests` and `referrals` also count the rows of their own kind.
 * @param rows a table or CTE with the column `kind` and the given columns
 * @param columns the columns of the result after the column `board`
 */
const fed = (rows: string, columns: string) => `
  select 'global' as board, ${columns} from ${rows} union all select ${BOARD_OF_KIND}, ${columns} from ${rows} where kind in ('quest', 'referral')`;

const SUMMED = ['global', 'quests', 'referrals'];
const BOARDS = `(${SUMMED.map((board) => `'${board}'`).join(', ')})`;
/** Two CTEs. `ended`: the latest day, week, month and year whose final ranks are stored. `counted`: the UTC days within the rows of `ended`. */
const COUNTED = `ended as materialized (select distinct on (period) period, bucket from closed_periods where finals_at is not null order by period, bucket desc),
  counted as materialized (select period, bucket, day from ended join days using (period, bucket))`;
/** SQL that selects the ledger rows that can count for the final ranks of the periods in `counted`. */
const RANKED = `(select * from ${POINTS} p
  where mode = 'regular' and kind <> 'conversion' and day between (select min(day) from counted) and (select max(day) from counted)) l`;
const sum = (points: string) => `coalesce(sum(${points} * w), 0)`;

/** Checks of the ledger and of the sums derived from it. */
export const pointChecks = [
  checksumCheck(
    'standings',
    'the points of the ledger sum to the standings, of all time and of the current day, week, month and year',
    [
      `with of_kind as (
         select kind, ${sum('points')} as total, ${PERIODS.map((p) => `coalesce(sum(points * w) filter (where ${since(p)} and kind <> 'conversion'), 0) as ${p}`).join(', ')}
         from (select kind, points, day, ${weight('wallet', 'mode')} as w from ${POINTS} p) l group by 1)
       select board, ${SPANS.map((span) => `sum(${span}) as ${span}`).join(', ')} from (${fed('of_kind', SPANS.join(', '))}) s group by 1`,
      `select board, ${SPANS.map((span) => `${sum(span)} as ${span}`).join(', ')}
       from (select *, ${weight('wallet', 'mode')} as w from (${STANDINGS}) s where board in ${BOARDS}) s group by 1`,
    ],
    `with summed as (
       select board, mode, wallet, sum(points) as total,
         ${PERIODS.map((p) => `coalesce(sum(points) filter (where ${since(p)} and kind <> 'conversion'), 0) as ${p}`).join(', ')}
       from (${fed(`${POINTS} p`, 'mode, wallet, points, kind, day')}) f group by board, mode, wallet)
     select format('%s, %s: %s has %s in the ledger and %s in the standings ${OF_SPANS}', board, mode, wallet, ${shown('l')}, ${shown('s')}) as what
     from summed l full join (select * from (${STANDINGS}) s where board in ${BOARDS}) s using (board, mode, wallet)
     where ${differs('l', 's')}`,
    // Finds standings of 0 without a ledger row. The comparison of sums does not find them, because a standing of 0 adds nothing to a sum. `case`
    // forces one lookup in the ledger per standing of 0; otherwise the planner would read the whole ledger.
    () => `select format('%s, %s: %s has a standing of 0, but no ledger row', board, mode, wallet) as what from standings s
     where board in ${BOARDS} and case when total = 0
       then not exists (select from ledger l where ${IS_OPEN} and l.wallet = s.wallet and l.mode = s.mode and (s.board = 'global' or s.board = ${BOARD_OF_KIND}))
         and not exists (select from carried_points l where l.wallet = s.wallet and l.mode = s.mode and (s.board = 'global' or s.board = ${BOARD_OF_KIND})) end`,
  ),
  databaseCheck(
    'game-boards',
    'the standing of a wallet in a game equals its best accepted score, of all time and of the current day, week, month and year; compared for an eighth of the wallets, a different eighth each day',
    ({ scope }) => `with bests as (
       select 'game:' || game_id as board, mode, wallet, max(normalized) as total,
         ${PERIODS.map((p) => `coalesce(max(normalized) filter (where ${since(p)}), 0) as ${p}`).join(', ')}
       from (
         select game_id, mode, wallet, normalized, day from scores where status = 'accepted' and ${inSlice(scope)} and ${isOpenId('id')}
         union all select game_id, mode, wallet, best, ${firstDayOf('paid_month')} from carried_games
         where best is not null and ${inSlice(scope)} and ${isSummed('month')}) s group by game_id, mode, wallet)
     select format('%s, %s: %s has best scores %s in its scores and %s in the standings ${OF_SPANS}', board, mode, wallet, ${shown('b')}, ${shown('s')}) as what
     from bests b full join (select * from (${STANDINGS}) s where board like 'game:%' and ${inSlice(scope)}) s using (board, mode, wallet)
     where case when b.total is null then s.total + ${PERIODS.map((p) => `s.${p}`).join(' + ')} <> 0 else ${differs('b', 's')} end`,
  ),
  databaseCheck(
    'point-totals',
    'the daily counters of points equal the ledger',
    `select format('day %s, %s %s: %s points in %s entries in the ledger, but %s points in %s entries in the counters', day, mode, kind, l.points, l.entries, t.points, t.entries) as what
     from (
       select day, mode, kind, sum(points) as points, sum(n) as entries
       from (
         select day, mode, kind, points, 1::int8 as n from ledger where ${IS_OPEN}
         union all select day, mode, kind, points, row_count from closed_sums where relation = 'ledger' and ${isSummed('month')}) r
       group by 1, 2, 3) l
     full join (select day, mode, kind, sum(points) as points, sum(entries) as entries from point_totals group by 1, 2, 3) t using (day, mode, kind)
     where (l.points, l.entries) is distinct from (t.points, t.entries)`,
  ),
  checksumCheck(
    'finals',
    'the final ranks of the latest closed day, week, month and year follow from the ledger',
    [
      `with ${DAYS}, ${COUNTED},
       of_kind as (select day, kind, ${sum('points')} as sum from (select day, kind, points, ${weight('wallet')} as w from ${RANKED}) l group by 1, 2)
       select board, period, bucket, sum(sum) as sum from (${fed('of_kind', 'day, sum')}) f join counted using (day) group by 1, 2, 3`,
      `with ${DAYS}, ${COUNTED}
       select board, period, bucket, ${sum('value')} as sum from (select *, ${weight('wallet')} as w from finals) f join ended using (period, bucket)
       where board in ${BOARDS} group by 1, 2, 3`,
    ],
    `with ${DAYS}, ${COUNTED},
     summed as (
       select board, period, bucket, wallet, sum(points) as value from (${fed(RANKED, 'wallet, points, day')}) f join counted using (day) group by 1, 2, 3, 4 having sum(points) > 0),
     ranked as (
       select *, rank() over (partition by board, period, bucket order by value desc) as rank,
         row_number() over (partition by board, period, bucket order by value desc, wallet collate "C" desc) as position from summed)
     select format('%s of %s %s: %s has %s points, rank %s, position %s in the ledger, but %s, %s, %s in the finals', board, period, bucket, wallet,
       r.value, r.rank, r.position, f.value, f.rank, f.position) as what
     from ranked r full join (select f.* from finals f join ended using (period, bucket) where board in ${BOARDS}) f
       using (board, period, bucket, wallet)
     where (r.value, r.rank, r.position) is distinct from (f.value, f.rank, f.position)`,
    // Checks that each final rank follows the rank before it. Sorts by a number that stands for a pair of board and period, because sorting by the
    // names of board and period takes three times as long.
    () => `with ${DAYS}, ${COUNTED},
     ranking as (select row_number() over () as id, * from ended cross join unnest(array['${SUMMED.join("', '")}']) b(board))
     select format('%s of %s %s: %s, with %s points, rank %s and position %s, does not follow the previous row', board, period, bucket, wallet, value, rank, position) as what
     from (
       select id, position, rank, wallet, value, row_number() over places as n, lag(value) over places as more, lag(wallet) over places as before, lag(rank) over places as ahead
       from finals f join ranking using (board, period, bucket) window places as (partition by id order by position)) f join ranking using (id)
     where position <> n or value > more or rank <> case when value = more then ahead else n end or (value = more and wallet >= before)`,
  ),
  databaseCheck(
    'final-sums',
    'the stored sum of a board of points in the latest closed day, week, month and year is the sum of its final values',
    `with ${DAYS}, ${COUNTED},
     summed as (select board, period, bucket, sum(value) as points from finals join ended using (period, bucket) where board in ${BOARDS} group by 1, 2, 3),
     stored as (select s.* from final_sums s join ended using (period, bucket))
     select format('%s of %s %s: the final values sum to %s, but the stored sum is %s', board, period, bucket, coalesce(f.points, 0), coalesce(s.points, 0)) as what
     from summed f full join stored s using (board, period, bucket) where coalesce(f.points, 0) <> coalesce(s.points, 0)`,
  ),
  databaseCheck(
    'periods',
    'every day, week, month and year that ended more than an hour ago is closed, and its finals are stored',
    `with ${DAYS},
     begun as (select coalesce((select min(bucket) from closed_periods where period = 'day'), (select min(day) from point_totals)) as day),
     due as (
       select distinct period, bucket from days
       where day >= (select day from begun) and day <= floor((extract(epoch from ${AT}) - 3600) / 86400)),
     ended as (select period, bucket from (select *, max(bucket) over (partition by period) as running from due) d where bucket < running)
     select format('%s %s is not closed', period, bucket) as what from ended e
     where not exists (select from closed_periods c where c.period = e.period and c.bucket = e.bucket)
     union all select format('the finals of %s %s are not stored', period, bucket) from closed_periods
     where finals_at is null and closed_at < ${AT} - interval '1 hour'`,
  ),
  databaseCheck(
    'board-refreshes',
    'pending refreshes of boards are done within a minute',
    `select format('%s: the refresh of %s has been waiting since %s', board, wallet, at) as what from board_refreshes where at < ${AT} - interval '1 minute'`,
  ),
];
