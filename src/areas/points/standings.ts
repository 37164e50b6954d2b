import { refreshBoards } from '#jobs/points.ts';
import { bucketOf, PERIODS } from '#lib/periods.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Points of regular mode feed public boards; beta points are kept apart. */
export type Mode = 'regular' | 'beta';

/** A wallet's row on a board: all time, and the bucket last written of each period with its value. */
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

const COLUMNS = ['total', ...PERIODS.flatMap((p) => [p, `${p}_value`, `${p}_before`])];

/** The columns of a StandingRow, as numbers. */
export const STANDING_COLUMNS = `s.board, s.mode, s.wallet, s.version::float8 as version, ${COLUMNS.map((c) => `s.${c}::float8 as ${c}`).join(', ')}`;

/** Buckets of a day in the order of PERIODS: what the statements below take as $1 to $4. */
export const bucketsOf = (day: number): number[] => PERIODS.map((period) => bucketOf(period, day));

/**
 * How a period's columns take a new value that belongs to the bucket in `excluded`.
 * A later bucket moves the old value to `_before`; a writer that read its day just before midnight, and came second,
 * still finds its own bucket there.
 * @param join how two values of one bucket become one: a sum, or the better of the two
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
 * The upsert that feeds standings from `source`, a relation of (board, mode, wallet, all_time, in_period), one row per key.
 * @param onlyIf which existing rows `s` are changed by `excluded`; the others are left alone and not returned
 */
export const feedStandings = (source: string, join: (a: string, b: string) => string, onlyIf = 'true') => `
  insert into standings as s (board, mode, wallet, version, total, ${PERIODS.flatMap((p) => [p, `${p}_value`]).join(', ')})
  select board, mode, wallet, 1, all_time, ${PERIODS.flatMap((_, i) => [`$${i + 1}::int`, 'in_period']).join(', ')}
  from ${source} order by board, mode, wallet
  on conflict (board, mode, wallet) do update set
    version = s.version + 1,
    total = ${join('s.total', 'excluded.total')},
    ${PERIODS.map((p) => periodUpdate(p, join)).join(',')}
  where ${onlyIf}
  returning ${STANDING_COLUMNS}`;

/** A wallet's new best on a game's board. */
export interface Best {
  board: string;
  mode: Mode;
  wallet: string;
  value: number;
}

const improveBests = statement<StandingRow>(
  'improve_bests',
  `with best as (
     select board, mode, wallet, max(value) as all_time, max(value) as in_period
     from unnest($5::text[], $6::text[], $7::text[], $8::int8[]) as b(board, mode, wallet, value) group by 1, 2, 3)
   ${feedStandings('best', (a, b) => `greatest(${a}, ${b})`, 's.day <> excluded.day or s.day_value < excluded.day_value')}`,
);

/**
 * Raises wallets' bests, per period and for all time. A value that is no better than the day's best improves no longer
 * period either: it changes nothing and returns nothing.
 * @param day the UTC day number that the values belong to
 */
export async function raiseBests(tx: Tx, day: number, bests: readonly Best[]): Promise<StandingRow[]> {
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
  // One look into the index per key, also where the plan was made while the table was small.
  `select s.* from unnest($1::text[], $2::text[], $3::text[]) as k(board, mode, wallet), lateral (
     select ${STANDING_COLUMNS} from standings s where s.board = k.board and s.mode = k.mode and s.wallet = k.wallet offset 0) s`,
);

/** Reads standings by key; keys without a row are left out. */
export async function readStandings(db: Pick<Tx, 'query'>, keys: readonly { board: string; mode: Mode; wallet: string }[]): Promise<StandingRow[]> {
  if (keys.length === 0) return [];
  return await db.query(selectStandings, [keys.map((k) => k.board), keys.map((k) => k.mode), keys.map((k) => k.wallet)]);
}

const selectTotals = statement<{ board: string; mode: Mode; wallet: string; total: number }>(
  'select_totals',
  `select s.* from unnest($1::text[], $2::text[]) as k(board, wallet), unnest(array['regular', 'beta']) as m(mode), lateral (
     select board, mode, wallet, total::float8 as total from standings s where s.board = k.board and s.mode = m.mode and s.wallet = k.wallet offset 0) s`,
);

/** All-time totals of wallets on boards, in either mode. */
export async function readTotals(
  tx: Tx,
  keys: readonly { board: string; wallet: string }[],
): Promise<{ board: string; mode: Mode; wallet: string; total: number }[]> {
  return await tx.query(selectTotals, [keys.map((k) => k.board), keys.map((k) => k.wallet)]);
}

const reset = statement<StandingRow>(
  'reset_best',
  `update standings s set version = s.version + 1, total = $4,
     ${PERIODS.map((p, i) => `${p}_value = $${5 + 2 * i}, ${p}_before_value = case when s.${p}_before is null then null else $${6 + 2 * i}::int8 end`).join(', ')}
   where s.board = $1 and s.mode = $2 and s.wallet = $3 returning ${STANDING_COLUMNS}`,
);

/**
 * Sets a wallet's bests to values computed anew; they may fall.
 * @param values all time, then per period the current bucket's and the one before
 */
export async function resetBest(tx: Tx, key: { board: string; mode: Mode; wallet: string }, values: readonly number[]): Promise<StandingRow[]> {
  return await tx.query(reset, [key.board, key.mode, key.wallet, ...values]);
}

const markRefresh = statement(
  'mark_board_refresh',
  `insert into board_refreshes (board, wallet, version) select * from unnest($1::text[], $2::text[], $3::int8[]) on conflict do nothing`,
);

/**
 * Has standings shown on their boards after the commit. For writers outside the score path: what they changed is marked
 * in the same transaction, so that a lost bell costs seconds and no update.
 */
export async function refreshLater(tx: Tx, rows: readonly StandingRow[]): Promise<void> {
  const shown = rows.filter((row) => row.mode === 'regular');
  if (shown.length === 0) return;
  await tx.query(markRefresh, [shown.map((r) => r.board), shown.map((r) => r.wallet), shown.map((r) => r.version)]);
  tx.enqueue(refreshBoards, {});
}

/** The board of a game. */
export const gameBoard = (gameId: string): string => `game:${gameId}`;
