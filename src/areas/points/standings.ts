import { refreshBoards } from '#jobs/points.ts';
import { bucketOf, PERIODS, type Period } from '#lib/periods.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { isBanned } from './banned.ts';
import { listBoards } from './boards/list-boards.ts';

/** Mode that a wallet plays in. Points in regular mode count on public boards. Beta points are counted separately. */
export type Mode = 'regular' | 'beta';

/**
 * A wallet's row on a board: the all-time total and, for each period, the two latest buckets with their values. A bucket is one day, week, month or
 * year.
 */
export interface StandingRow {
  board: string;
  mode: Mode;
  wallet: string;
  version: number;
  total: number;
  day: number;
  day_value: number;
  day_before: number | null;
  week: number;
  week_value: number;
  week_before: number | null;
  month: number;
  month_value: number;
  month_before: number | null;
  year: number;
  year_value: number;
  year_before: number | null;
}

/** The columns of a standing that boards show. */
export interface BoardStanding extends Omit<StandingRow, `${Period}_before`> {
  /** Points that this version added to the total, and to the bucket of each period that contains the day of the transaction. Undefined when not known. */
  readonly gained?: number;
}

const COLUMNS = ['total', ...PERIODS.flatMap((p) => [p, `${p}_value`, `${p}_before`])];

/** SQL: the columns of a StandingRow, as numbers. */
export const STANDING_COLUMNS = `s.board, s.mode, s.wallet, s.version::float8 as version, ${COLUMNS.map((c) => `s.${c}::float8 as ${c}`).join(', ')}`;

/** SQL: the columns of a BoardStanding, as numbers. Scores return two standings each, so their statements return no other columns. */
const BOARD_COLUMNS = `s.board, s.mode, s.wallet, s.version::float8 as version, s.total::float8 as total, ${PERIODS.map((p) => `s.${p}, s.${p}_value::float8 as ${p}_value`).join(', ')}`;

const VALUES = ['total', ...PERIODS.map((p) => `${p}_value`)];

/** SQL: the columns of a StandingRow as boards show them: the values of a banned wallet are 0. */
export const SHOWN_COLUMNS = `s.board, s.mode, s.wallet, s.version::float8 as version, ${COLUMNS.map((c) =>
  VALUES.includes(c) ? `case when ${isBanned('s.wallet')} then 0 else s.${c} end::float8 as ${c}` : `s.${c}::float8 as ${c}`,
).join(', ')}`;

/** Returns the numbers of the buckets that contain a day, in the order of PERIODS. The statements in this file take these numbers as $1 to $4. */
export const bucketsOf = (day: number): number[] => PERIODS.map((period) => bucketOf(period, day));

/**
 * Returns SQL that updates the columns of a period with a new value and its bucket, both from `excluded`. If the new bucket is later than the stored
 * bucket, the stored value moves to the columns `_before`. If the new bucket is earlier, the SQL updates the columns `_before`. The new bucket is
 * earlier when a transaction begins before midnight and commits after a transaction that began after midnight.
 * @param join function that combines two values of one bucket in SQL: a sum, or the greater value
 */
const periodUpdate = (p: string, join: (a: string, b: string) => string) => `
  ${p} = greatest(s.${p}, excluded.${p}),
  ${p}_value = case when s.${p} = excluded.${p} then ${join(`s.${p}_value`, `excluded.${p}_value`)}
                    when s.${p} < excluded.${p} then excluded.${p}_value else s.${p}_value end,
  ${p}_before = case when s.${p} < excluded.${p} then s.${p}
                     when s.${p} > excluded.${p} then greatest(s.${p}_before, excluded.${p}) else s.${p}_before end,
  ${p}_before_value = case when s.${p} < excluded.${p} then s.${p}_value
                           when s.${p} > excluded.${p} and s.${p}_before = excluded.${p} then ${join(`s.${p}_before_value`, `excluded.${p}_value`)}
                           when s.${p} > excluded.${p} and coalesce(s.${p}_before < excluded.${p}, true) then excluded.${p}_value
                           else s.${p}_before_value end`;

/**
 * Returns the SQL upsert of standings from `source`, a relation of (board, mode, wallet, all_time, in_period) with one row per standing.
 * @param onlyIf SQL condition on the existing row `s` and on `excluded`; the upsert changes and returns an existing row only if the row meets this
 * condition
 */
export const upsertStandings = (source: string, join: (a: string, b: string) => string, onlyIf = 'true') => `
  insert into standings as s (board, mode, wallet, version, total, ${PERIODS.flatMap((p) => [p, `${p}_value`]).join(', ')})
  select board, mode, wallet, 1, all_time, ${PERIODS.flatMap((_, i) => [`$${i + 1}::int`, 'in_period']).join(', ')}
  from ${source} order by board, mode, wallet
  on conflict (board, mode, wallet) do update set
    version = s.version + 1,
    total = ${join('s.total', 'excluded.total')},
    ${PERIODS.map((p) => periodUpdate(p, join)).join(',')}
  where ${onlyIf}
  returning ${BOARD_COLUMNS}`;

/** A wallet's new best score on a game's board. */
export interface Best {
  board: string;
  mode: Mode;
  wallet: string;
  value: number;
}

const improveBests = statement<BoardStanding>(
  'improve_bests',
  `with best as (
     select board, mode, wallet, max(value) as all_time, max(value) as in_period
     from unnest($5::text[], $6::text[], $7::text[], $8::int8[]) as b(board, mode, wallet, value) group by 1, 2, 3)
   ${upsertStandings('best', (a, b) => `greatest(${a}, ${b})`, 's.day <> excluded.day or s.day_value < excluded.day_value')}`,
);

/**
 * Stores better scores of wallets as their best scores, per period and for all time. Skips a score that does not improve the wallet's best score of
 * the day: each longer period contains this day, so the score cannot improve a longer period either.
 * @param day UTC day number on which the scores count
 * @returns the changed standings
 */
export async function raiseBests(tx: Tx, day: number, bests: readonly Best[]): Promise<BoardStanding[]> {
  if (bests.length === 0) return [];
  return await tx.query(improveBests, [
    ...bucketsOf(day),
    bests.map((b) => b.board),
    bests.map((b) => b.mode),
    bests.map((b) => b.wallet),
    bests.map((b) => b.value),
  ]);
}

const selectStandings = statement<StandingRow>(
  'select_standings',
  // `offset 0` forces one index lookup per key, even in a plan that PostgreSQL cached while the table was small.
  `select s.* from unnest($1::text[], $2::text[], $3::text[]) as k(board, mode, wallet), lateral (
     select ${SHOWN_COLUMNS} from standings s where s.board = k.board and s.mode = k.mode and s.wallet = k.wallet offset 0) s`,
);

/** Reads standings by key, as boards show them: the values of a banned wallet are 0. Skips keys without a row. */
export async function readStandings(db: Pick<Tx, 'query'>, keys: readonly { board: string; mode: Mode; wallet: string }[]): Promise<StandingRow[]> {
  if (keys.length === 0) return [];
  return await db.query(selectStandings, [keys.map((k) => k.board), keys.map((k) => k.mode), keys.map((k) => k.wallet)]);
}

const selectTotals = statement<BoardTotal>(
  'select_totals',
  `select s.* from unnest($2::text[], $3::text[]) as k(board, wallet), lateral (
     select board, mode, wallet, total::float8 as total, day, day_value::float8 as "dayValue"
     from standings s where s.board = k.board and s.mode = $1 and s.wallet = k.wallet offset 0) s`,
);

/** The value of a wallet on a board, in one mode: of all time, and of the latest UTC day on which the value changed. */
export interface BoardTotal {
  readonly board: string;
  readonly mode: Mode;
  readonly wallet: string;
  readonly total: number;
  /** The latest UTC day number. */
  readonly day: number;
  readonly dayValue: number;
}

/** Reads the values of wallets on boards, in one mode. Skips keys without a row. */
export async function readTotals(tx: Tx, mode: Mode, keys: readonly { board: string; wallet: string }[]): Promise<BoardTotal[]> {
  if (keys.length === 0) return [];
  return await tx.query(selectTotals, [mode, keys.map((k) => k.board), keys.map((k) => k.wallet)]);
}

const reset = statement<StandingRow>(
  'reset_best',
  `update standings s set version = s.version + 1, total = $4,
     ${PERIODS.map((p, i) => `${p}_value = $${5 + 2 * i}, ${p}_before_value = case when s.${p}_before is null then null else $${6 + 2 * i}::int8 end`).join(', ')}
   where s.board = $1 and s.mode = $2 and s.wallet = $3 returning ${STANDING_COLUMNS}`,
);

/**
 * Replaces a wallet's best scores with recomputed scores, which may be lower.
 * @param values the best score of all time; then, for each period, the best score of the current bucket and the best score of the bucket before
 */
export async function resetBest(tx: Tx, key: { board: string; mode: Mode; wallet: string }, values: readonly number[]): Promise<StandingRow[]> {
  return await tx.query(reset, [key.board, key.mode, key.wallet, ...values]);
}

const touch = statement<StandingRow>(
  'touch_standings',
  // Locks the rows in the order of their boards, like all writers of standings, so that two writers do not deadlock.
  `with locked as materialized (
     select board, mode, wallet from standings where board = any($2::text[]) and mode = 'regular' and wallet = $1 order by board for no key update)
   update standings s set version = s.version + 1 from locked k
   where s.board = k.board and s.mode = k.mode and s.wallet = k.wallet returning ${STANDING_COLUMNS}`,
);

/**
 * Copies all regular standings of a wallet to the boards again, because its ban began or ended.
 * @returns the standings, with their values as if the wallet were not banned
 */
export async function refreshStandings(tx: Tx, wallet: string): Promise<StandingRow[]> {
  const standings = await tx.query(touch, [wallet, await listBoards(tx)]);
  await scheduleRefresh(tx, standings);
  return standings;
}

const markRefresh = statement(
  'mark_board_refresh',
  `insert into board_refreshes (board, wallet, version) select * from unnest($1::text[], $2::text[], $3::int8[]) on conflict do nothing`,
);

/**
 * Marks changed standings, and enqueues a job that copies them to the boards in Redis after the commit. Every writer of standings must call this
 * function, except the code that records submitted scores, because that code copies its standings itself. The marks are rows that this transaction
 * inserts. So if a job is lost, the next job copies the standings.
 */
export async function scheduleRefresh(tx: Tx, rows: readonly BoardStanding[]): Promise<void> {
  const shown = rows.filter((row) => row.mode === 'regular');
  if (shown.length === 0) return;
  await tx.query(markRefresh, [shown.map((r) => r.board), shown.map((r) => r.wallet), shown.map((r) => r.version)]);
  tx.enqueue(refreshBoards, {});
}

/** Returns the name of a game's board. */
export const gameBoard = (gameId: string): string => `game:${gameId}`;
