import { bucketOf, bucketStart, PERIODS, type Span } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import type { StandingRow } from '../standings.ts';
import { lifeOf } from './redis-run-id.ts';
import { applyBoard, neighbourhoodOf } from './scripts.ts';

/**
 * Boards in Redis: sorted copies of the regular standings, rebuilt from them at any time.
 * All keys of a board share a hash tag, so they live on one node of a cluster.
 *   {prefix:board:<board>}:ready         the Redis life in which the board was completed (see `lifeOf`); missing = not complete
 *   {prefix:board:<board>}:versions      hash wallet → version of the standing that the sorted sets show
 *   {prefix:board:<board>}:all           sorted set, all time
 *   {prefix:board:<board>}:day:<bucket>  … week, month, year: the current bucket; gone two days after its end
 */
export function boardKeys(prefix: string, board: string) {
  const tag = `{${prefix}:board:${board}}`;
  return {
    ready: `${tag}:ready`,
    versions: `${tag}:versions`,
    span: (span: Span, bucket: number) => (span === 'all' ? `${tag}:all` : `${tag}:${span}:${bucket}`),
  };
}

const DAY_MS = 86_400_000;

/**
 * Shows standings on a board, where they are newer than what it shows: idempotent, in any order, totals may fall.
 * @param day a UTC day number that is current, or was when the rows were written
 * @param rows standings of this board, each wallet once; those of beta mode are not shown
 * @param asked wallets whose all-time neighbourhood is wanted
 * @returns the neighbourhoods in the order asked, or null while the board is not complete
 */
export async function applyToBoard(
  app: App,
  board: string,
  day: number,
  rows: readonly StandingRow[],
  asked: readonly string[] = [],
): Promise<Neighbourhood[] | null> {
  const shown = rows.filter((row) => row.mode === 'regular' && row.board === board);
  // A row may carry a later day than its writer's: another writer came in between, past midnight. Its values are of that day.
  const current = shown.reduce((latest, row) => Math.max(latest, row.day), day);
  const keys = boardKeys(app.config.redis.prefix, board);
  const buckets = PERIODS.map((period) => ({ period, bucket: bucketOf(period, current) }));
  const args: (string | number)[] = [...buckets.map(({ period, bucket }) => (bucketStart(period, bucket + 1) + 2) * DAY_MS), shown.length];
  for (const row of shown) {
    args.push(row.wallet, row.version, row.total);
    for (const { period, bucket } of buckets) args.push(row[period] === bucket ? row[`${period}_value`] : '');
  }
  args.push(...asked);
  const all = [keys.ready, keys.versions, keys.span('all', 0), ...buckets.map(({ period, bucket }) => keys.span(period, bucket))];
  const [life, [ready, n, ...found]] = await Promise.all([lifeOf(app.redis), applyBoard(app.redis, all, args)]);
  return ready === life ? found.map((entry) => neighbourhoodOf(entry, n)) : null;
}
