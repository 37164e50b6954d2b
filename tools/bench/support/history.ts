import type pg from 'pg';
import { ofMonth, partitionOf, type Relation } from '#areas/points/history/index.ts';
import { bucketOf, bucketStart, PERIODS } from '#lib/periods.ts';

/** The partitioned tables, each with its key and the key of the first row of a UTC day. */
const KEYS: Readonly<Record<Relation, (day: number) => string>> = {
  activities: (day) => String(day),
  ledger: (day) => String(day),
  plays: (day) => `'${firstId(day)}'`,
  score_plays: (day) => `'${firstId(day)}'`,
  scores: (day) => `'${firstId(day)}'`,
};
const RELATIONS = Object.keys(KEYS) as Relation[];
/** Number of months before the present one that have partitions, and of these the months at the end that stay open. */
const MONTHS = 12;
const OPEN = 3;
/** Maximum rows of one statement. */
const ROWS_PER_INSERT = 1_000_000;

const firstId = (day: number) =>
  `${(day * 86_400_000)
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-0000-0000-000000000000`;
const monthOf = (day: number) => bucketOf('month', day);

/** Makes the partitions of the months before the present one, as if the service had been in use for a year. Precondition: the tables are empty. */
export async function makePastPartitions(db: pg.Client, today: number): Promise<void> {
  const oldest = monthOf(today) - MONTHS;
  for (const relation of RELATIONS) {
    const bound = (month: number) => KEYS[relation](bucketStart('month', month));
    await db.query(`alter table ${relation} detach partition ${relation}_first`);
    await db.query(`alter table ${relation} attach partition ${relation}_first for values from (minvalue) to (${bound(oldest)})`);
    for (let month = oldest; month < monthOf(today); month++) {
      await db.query(
        `create table ${partitionOf(relation, month)} partition of ${relation} for values from (${bound(month)}) to (${bound(month + 1)})`,
      );
    }
  }
}

/** Returns the months whose rows `growHistory` makes: all past months but the newest, which stay open. */
export const grownMonths = (today: number): number[] => Array.from({ length: MONTHS - OPEN }, (_, i) => monthOf(today) - MONTHS + i);

/**
 * Adds rows with the numbers from `from` to `until` to the months that are to be closed: per number one play, one score, one ledger row and two
 * activities. The wallets are those with more than 100 points; each plays three games.
 */
export async function growHistory(db: pg.Client, today: number, from: number, until: number): Promise<void> {
  const months = grownMonths(today);
  const first = bucketStart('month', months[0] ?? 0);
  const days = bucketStart('month', (months.at(-1) ?? 0) + 1) - first;
  await db.query(`set session_replication_role = replica; set work_mem = '256MB'; set jit = off`);
  await makeWallets(db);
  await db.query('create temp table if not exists gg as select row_number() over (order by id) - 1 as n, id from games');
  await db.query('analyze gg');
  for (let at = from; at < until; at += ROWS_PER_INSERT) {
    await db.query(`
      create temp table gs as
      select w.wallet, g.id as game_id, day, to_timestamp(sec) as at, ${scoreId('sec')} as id, ${uuidOf('sec - 60', '000')} as play_id, normalized, 1 + normalized / 200 as points
      from (
        select i, (hashint8(i)::int8 & 2147483647) as h, ${first} + ((i * ${days}::int8) / ${until} + i * 7919) % ${days} as day,
          (hashint8(i + 1)::int8 & 2147483647) % 10001 as normalized
        from generate_series(${at}::int8, ${Math.min(until, at + ROWS_PER_INSERT)}::int8 - 1) i) r
      join gw w on w.n = r.h % (select count(*) from gw) join gg g on g.n = (w.n + r.normalized % 3) % (select count(*) from gg),
      lateral (select day * 86400 + 120 + r.h % 86000 as sec) t`);
    await db.query(`
      insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
      select wallet, 'regular', 'game', 'score', 'score', id::text, points, true, day, at, day from gs order by at`);
    await db.query(
      `insert into plays (id, wallet, game_id, started_at, batch) select play_id, wallet, game_id, at - interval '1 minute', 1 from gs order by at`,
    );
    await db.query(`
      insert into scores (id, wallet, game_id, game_version, play_id, body_hash, score, normalized, points, personal_best, status, mode, duration_ms, day, at, batch)
      select id, wallet, game_id, 1, play_id, sha256('x'), normalized, normalized, points, false, 'accepted', 'regular', 60000, day, at, 1 from gs order by at`);
    await db.query('insert into score_plays (play_id, score_id) select play_id, id from gs');
    await db.query('drop table gs');
  }
  await recompute(db, today);
  await db.query('reset session_replication_role');
}

/**
 * Adds rows to the ledger alone, until it has a number of rows in the months that are to be closed. Copies each month to a table without indexes, adds
 * the new rows to it in the order of their times, and makes it the partition: this takes a fifth of the time of inserts into a table with indexes.
 */
export async function growLedger(db: pg.Client, today: number, from: number, until: number): Promise<void> {
  const months = grownMonths(today);
  const dayOf = (month: number) => bucketStart('month', month);
  const days = dayOf((months.at(-1) ?? 0) + 1) - dayOf(months[0] ?? 0);
  await db.query(`set session_replication_role = replica; set maintenance_work_mem = '1GB'; set work_mem = '256MB'; set jit = off`);
  await makeWallets(db);
  let first = from;
  for (const month of months) {
    const [begin, end, name] = [dayOf(month), dayOf(month + 1), partitionOf('ledger', month)];
    const count = from + Math.ceil(((until - from) * (end - dayOf(months[0] ?? 0))) / days) - first;
    await db.query(`alter table ledger detach partition ${name}`);
    await db.query(`alter table ${name} rename to old_month`);
    await db.query(`create table ${name} (like ledger including all excluding indexes)`);
    await db.query(`insert into ${name} select * from old_month`);
    await db.query('drop table old_month');
    await db.query(`
      insert into ${name} (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
      select w.wallet, 'regular', 'game', 'score', 'score', ${scoreId('sec')}::text, 1 + h % 50, true, day, to_timestamp(sec), day
      from (
        select i, (hashint8(i)::int8 & 2147483647) as h, ${begin} * 86400::int8 + ((i - ${first}) * ${(end - begin) * 86_400}::int8) / ${count} as sec
        from generate_series(${first}::int8, ${first + count}::int8 - 1) i) r
      join gw w on w.n = r.h % (select count(*) from gw), lateral (select (sec / 86400)::int as day) d`);
    await db.query(`alter table ledger attach partition ${name} for values from (${begin}) to (${end})`);
    first += count;
  }
  await recompute(db, today);
  await db.query('reset session_replication_role');
}

/** Makes the temporary table `gw` of the wallets with more than 100 points, numbered from 0. */
async function makeWallets(db: pg.Client): Promise<void> {
  await db.query(
    `create temp table if not exists gw as select row_number() over (order by wallet) - 1 as n, wallet from standings where board = 'global' and mode = 'regular' and total > 100`,
  );
  await db.query('create unique index if not exists gw_n on gw (n)');
  await db.query('analyze gw');
}

/** Returns the SQL expression for the UUIDv7 of row `i` with a time, seconds since 1970. */
const uuidOf = (seconds: string, version: string) =>
  `(lpad(to_hex((${seconds})::bigint * 1000), 12, '0') || '7${version}8' || lpad(to_hex(i::bigint), 15, '0'))::uuid`;
const scoreId = (seconds: string) => uuidOf(seconds, '001');

/** Computes the sums of wallets, games and days again from all rows. */
async function recompute(db: pg.Client, today: number): Promise<void> {
  const inYear = `day >= ${bucketStart('year', bucketOf('year', today))}`;
  await db.query(`
    update standings s set total = l.total, year_value = l.year from (
      select wallet, sum(points) as total, coalesce(sum(points) filter (where ${inYear}), 0) as year from ledger where mode = 'regular' group by 1) l
    where s.board = 'global' and s.mode = 'regular' and s.wallet = l.wallet`);
  const columns = PERIODS.flatMap((period) => [period, `${period}_value`]);
  const values = PERIODS.map((period) => `${bucketOf(period, today)}, ${period === 'year' ? 'c.year' : '0'}`);
  await db.query(`
    insert into standings as s (board, mode, wallet, version, total, ${columns.join(', ')})
    select 'game:' || game_id, 'regular', wallet, 1, best, ${values.join(', ')} from (
      select game_id, wallet, max(normalized) as best, coalesce(max(normalized) filter (where ${inYear}), 0) as year from scores
      where mode = 'regular' and status = 'accepted' group by 1, 2) c
    on conflict (board, mode, wallet) do update set total = excluded.total, year_value = excluded.year_value`);
  await db.query(`
    update players p set tally = jsonb_build_object('regular', t.games) from (
      select wallet, jsonb_object_agg(game_id, jsonb_build_object('scores', n, 'points', points)) as games
      from (select wallet, game_id, count(*) as n, sum(points) as points from scores where status = 'accepted' group by 1, 2) g group by 1) t
    where t.wallet = p.wallet`);
  await db.query('delete from point_totals');
  await db.query(
    'insert into point_totals (day, shard, mode, kind, points, entries) select day, 0, mode, kind, sum(points), count(*) from ledger group by day, mode, kind',
  );
  await recountGames(db);
}

/** Counts the plays, players and scores of all games again. */
async function recountGames(db: pg.Client): Promise<void> {
  await db.query('insert into game_players (game_id, wallet) select distinct game_id, wallet from plays on conflict do nothing');
  await db.query('delete from game_counters');
  await db.query(`
    insert into game_counters (game_id, shard, plays, players, scores, score_sum)
    select game_id, 0, p.plays, p.players, coalesce(s.n, 0), coalesce(s.sum, 0)
    from (select game_id, count(*) as plays, count(distinct wallet) as players from plays group by 1) p
    left join (select game_id, count(*) as n, sum(normalized) as sum from scores where status = 'accepted' group by 1) s using (game_id)`);
}

/** Adds the version and the counters of a game, and gives the plays that were inserted without activities a batch, so that the audit finds no difference. */
export async function completeGame(db: pg.Client, gameId: string): Promise<void> {
  await db.query(
    `insert into game_versions (game_id, version, definition) select id, version, definition from games where id = $1 on conflict do nothing`,
    [gameId],
  );
  await db.query('update plays set batch = 1 where game_id = $1 and batch is null', [gameId]);
  await recountGames(db);
}

/** Deletes an epoch with its leaves, so that it can be computed again. */
export async function removeEpoch(db: pg.Client, epoch: number): Promise<void> {
  await db.query('set session_replication_role = replica');
  for (const table of ['reward_leaves', 'reward_trees', 'reward_allocations', 'epoch_accounts', 'epochs']) {
    await db.query(`delete from ${table} where epoch = $1`, [epoch]);
  }
  await db.query('reset session_replication_role');
}

/** Opens all closed months again, newest first, so that rows can be added to them. */
export async function reopenMonths(db: pg.Client): Promise<void> {
  const { rows } = await db.query<{ month: number }>('select distinct month from closed_partitions order by month desc');
  for (const { month } of rows) await db.query('select reopen_month($1)', [month]);
}

/** Returns whether the closed months have a number of rows of the ledger, and no table of a month is still being counted. */
export async function areMonthsClosed(db: pg.Client, size: number): Promise<boolean> {
  const { rows } = await db.query<{ closed: boolean }>(
    `select coalesce(sum(row_count) filter (where relation = 'ledger'), 0) >= $1 and coalesce(bool_and(closed_at is not null), false) as closed from closed_partitions`,
    [size],
  );
  return rows[0]?.closed ?? false;
}

/** Returns the bytes per row of each table that grows with each play, with its indexes, from the rows of one month. */
export async function bytesPerRow(db: pg.Client, month: number): Promise<Map<Relation, number>> {
  const found = new Map<Relation, number>();
  for (const relation of RELATIONS.filter((one) => one !== 'activities')) {
    const { rows } = await db.query<{ bytes: number }>(
      `select pg_total_relation_size('${partitionOf(relation, month)}')::float8 / greatest(1, count(*)) as bytes from ${relation} where ${ofMonth(relation, month)}`,
    );
    found.set(relation, rows[0]?.bytes ?? 0);
  }
  return found;
}
