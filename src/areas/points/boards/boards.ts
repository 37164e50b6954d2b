import { bucketOf, bucketStart, PERIODS, type Period, type Span } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import type { BoardStanding } from '../standings.ts';
import { applyBoard, neighbourhoodOf } from './scripts.ts';
import { boardKindOf } from './values.ts';

/**
 * Returns the Redis keys of a board. A board is a sorted copy of the standings in regular mode; it can be rebuilt from the database at any time. All
 * keys of a board share a hash tag, so they are on one node of a cluster.
 *   {prefix:board:<board>}:complete      run id of the server that had the board when it was completed; missing while the board is not complete
 *   {prefix:board:<board>}:versions      hash that maps each wallet to the version of its standing in the sorted sets
 *   {prefix:board:<board>}:all           sorted set of the all-time totals
 *   {prefix:board:<board>}:day:<bucket>  sorted set of one day; expires two days after the day's end; the same for week, month, year
 *   <sorted set>:sum                     sum of the scores in this sorted set; only on boards of points. Expires with the sorted set
 */
export function boardKeys(prefix: string, board: string) {
  const tag = `{${prefix}:board:${board}}`;
  const span = (name: Span, bucket: number) => (name === 'all' ? `${tag}:all` : `${tag}:${name}:${bucket}`);
  return {
    ready: `${tag}:complete`,
    versions: `${tag}:versions`,
    span,
    sum: (name: Span, bucket: number) => `${span(name, bucket)}:sum`,
  };
}

const DAY_MS = 86_400_000;

/** Returns the sorted sets of a board: all time, then the periods that contain a UTC day. For a board of points, then the keys of their sums. */
export function spanKeys(prefix: string, board: string, day: number): string[] {
  const keys = boardKeys(prefix, board);
  const spans = [['all', 0] as const, ...PERIODS.map((period) => [period, bucketOf(period, day)] as const)];
  const sets = spans.map(([span, bucket]) => keys.span(span, bucket));
  return boardKindOf(board) === 'game' ? sets : [...sets, ...spans.map(([span, bucket]) => keys.sum(span, bucket))];
}

/** Returns the newest version of each wallet's standing, because the sum of a board must count each wallet once. */
function newestOfWallets(rows: readonly BoardStanding[]): BoardStanding[] {
  const newest = new Map<string, BoardStanding>();
  for (const row of rows) if (row.version > (newest.get(row.wallet)?.version ?? 0)) newest.set(row.wallet, row);
  return [...newest.values()];
}

/**
 * Returns the points by which a standing exceeds its version before in all time and in each period; '' if they are unknown, or if a value before was
 * negative, because a board does not show it.
 */
function gainOf(row: BoardStanding, day: number): number | '' {
  const { gained, total, day_value, week_value, month_value, year_value } = row;
  if (gained === undefined || row.day !== day) return '';
  return Math.min(total, day_value, week_value, month_value, year_value) < gained ? '' : gained;
}

/** Reads the columns of a period from a standing. Each function reads one column, which V8 does several times as fast as a read by a variable name. */
const COLUMNS: Readonly<Record<Period, { bucketIn(row: BoardStanding): number; valueIn(row: BoardStanding): number }>> = {
  day: { bucketIn: (row) => row.day, valueIn: (row) => row.day_value },
  week: { bucketIn: (row) => row.week, valueIn: (row) => row.week_value },
  month: { bucketIn: (row) => row.month, valueIn: (row) => row.month_value },
  year: { bucketIn: (row) => row.year, valueIn: (row) => row.year_value },
};

/** Returns the argument of the script for a value; '-' for a value that the board does not show. */
const listed = (value: number) => (value > 0 ? value : '-');

/**
 * Returns the arguments of the script that writes standings to a board.
 * @param current the latest UTC day number of the standings
 */
function applyArguments(shown: readonly BoardStanding[], wallets: readonly string[], day: number, current: number): (string | number)[] {
  const buckets = PERIODS.map((period) => ({ ...COLUMNS[period], period, bucket: bucketOf(period, current) }));
  const args: (string | number)[] = buckets.map(({ period, bucket }) => (bucketStart(period, bucket + 1) + 2) * DAY_MS);
  args.push(shown.length);
  for (const { wallet } of shown) args.push(wallet);
  for (const { version } of shown) args.push(version);
  for (const row of shown) args.push(gainOf(row, day));
  for (const { total } of shown) args.push(listed(total));
  for (const { bucket, bucketIn, valueIn } of buckets) {
    for (const row of shown) args.push(bucketIn(row) === bucket ? listed(valueIn(row)) : '');
  }
  args.push(...wallets);
  return args;
}

/**
 * Copies standings to a board in Redis. Skips a standing if the board has the same or a newer version of this standing. So calls may be repeated, and
 * may come in any order.
 * @param day UTC day number on which the rows were written
 * @param rows standings; rows in beta mode and rows of other boards are skipped
 * @param wallets addresses whose all-time neighbourhoods are returned
 * @returns the neighbourhoods in the order of `wallets`; null while the board is not complete in Redis
 */
export async function applyToBoard(
  app: App,
  board: string,
  day: number,
  rows: readonly BoardStanding[],
  wallets: readonly string[] = [],
): Promise<Neighbourhood[] | null> {
  const shown = newestOfWallets(rows.filter((row) => row.mode === 'regular' && row.board === board));
  // Uses the latest day of the rows if it is later than `day`, because another writer may have changed a row after midnight.
  const current = shown.reduce((latest, row) => Math.max(latest, row.day), day);
  const keys = boardKeys(app.config.redis.prefix, board);
  const all = [keys.ready, keys.versions, ...spanKeys(app.config.redis.prefix, board, current)];
  const [complete, n, ...found] = await applyBoard(app.redis, all, applyArguments(shown, wallets, day, current));
  return complete ? found.map((entry) => neighbourhoodOf(entry, n)) : null;
}
