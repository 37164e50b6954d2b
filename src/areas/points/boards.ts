import type { App } from '../../context.ts';
import { bucketOf, bucketStart, PERIODS, type Span } from '../../lib/periods.ts';
import { percentile, ranksOfPage } from '../../lib/ranking.ts';
import { script } from '../../redis-script.ts';
import type { StandingRow } from './standings.ts';

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

/** A board as a wallet's neighbourhood: what a score is answered with. */
export interface Neighbourhood {
  rank: number | null;
  score: number;
  percentile: number | null;
  /** What is missing to the next better score; null for the best and the unranked. */
  pointsToNext: number | null;
  neighbours: { rank: number; wallet: string; score: number }[];
}

export const UNRANKED: Neighbourhood = { rank: null, score: 0, percentile: null, pointsToNext: null, neighbours: [] };

const DAY_MS = 86_400_000;

/** How many wallets are shown on either side. */
export const NEIGHBOURS = 2;

/**
 * Takes standings that are newer than what the board shows, then tells the neighbourhoods asked for.
 * KEYS: ready, versions, all, day, week, month, year. ARGV: four expiry times (ms), number of standings,
 * per standing wallet, version and five values ('' = not in the current bucket), then the wallets asked for.
 * Returns [ready, n, [position, rank of the window's first, next better score, wallet, score, …] per wallet asked].
 */
const apply = script<[ready: string, n: number, ...found: (string | number)[][]]>(`
local n = tonumber(ARGV[5])
local at = 6
for i = 1, n do
  local wallet = ARGV[at]
  local known = redis.call('HGET', KEYS[2], wallet)
  if not known or tonumber(known) < tonumber(ARGV[at + 1]) then
    redis.call('HSET', KEYS[2], wallet, ARGV[at + 1])
    for k = 3, 7 do
      local value = ARGV[at + k - 1]
      if value ~= '' then
        if tonumber(value) > 0 then redis.call('ZADD', KEYS[k], value, wallet) else redis.call('ZREM', KEYS[k], wallet) end
      end
    end
  end
  at = at + 7
end
if n > 0 then
  for k = 4, 7 do redis.call('PEXPIREAT', KEYS[k], ARGV[k - 3]) end
end
local out = { redis.call('GET', KEYS[1]) or '', redis.call('ZCARD', KEYS[3]) }
for i = at, #ARGV do
  local position = redis.call('ZREVRANK', KEYS[3], ARGV[i])
  if position then
    local from = math.max(position - ${NEIGHBOURS}, 0)
    local window = redis.call('ZRANGE', KEYS[3], from, position + ${NEIGHBOURS}, 'REV', 'WITHSCORES')
    local own = window[(position - from) * 2 + 2]
    local next = ''
    if position > 0 then
      local above = redis.call('ZRANGE', KEYS[3], '(' .. own, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
      next = above[2] or ''
    end
    local first = 1
    if from > 0 then first = redis.call('ZCOUNT', KEYS[3], '(' .. window[2], '+inf') + 1 end
    out[#out + 1] = { position, first, next, unpack(window) }
  else
    out[#out + 1] = { -1 }
  end
end
return out
`);

/**
 * Shows standings on a board, where they are newer than what it shows: idempotent, in any order, totals may fall.
 * @param day the current UTC day number
 * @param rows standings of this board; those of beta mode are not shown
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
  const keys = boardKeys(app.config.redis.prefix, board);
  const buckets = PERIODS.map((period) => bucketOf(period, day));
  const used = [keys.ready, keys.versions, keys.span('all', 0), ...PERIODS.map((period, i) => keys.span(period, buckets[i] ?? 0))];
  const args: (string | number)[] = [...PERIODS.map((period, i) => (bucketStart(period, (buckets[i] ?? 0) + 1) + 2) * DAY_MS)];
  const shown = rows.filter((row) => row.mode === 'regular' && row.board === board);
  args.push(shown.length);
  for (const row of shown) {
    args.push(row.wallet, row.version, row.total);
    PERIODS.forEach((period, i) => {
      args.push(row[period] === buckets[i] ? row[`${period}_value`] : '');
    });
  }
  args.push(...asked);
  const [ready, n, ...found] = await apply(app.redis, used, args);
  return ready === '' ? null : found.map((entry) => neighbourhood(entry, n));
}

function neighbourhood(entry: readonly (string | number)[], n: number): Neighbourhood {
  const [position, first, next, ...window] = entry;
  if (position === undefined || Number(position) < 0) return UNRANKED;
  const shown = [];
  for (let i = 0; i + 1 < window.length; i += 2) shown.push({ wallet: String(window[i]), score: Number(window[i + 1]) });
  const offset = Math.max(Number(position) - NEIGHBOURS, 0);
  const ranks = ranksOfPage(
    shown.map((s) => s.score),
    Number(first),
    offset,
  );
  const listed = shown.map((s, i) => ({ rank: ranks[i] ?? 0, ...s }));
  const own = listed[Number(position) - offset];
  if (!own) return UNRANKED;
  return {
    rank: own.rank,
    score: own.score,
    percentile: percentile(own.rank, n),
    pointsToNext: next === '' ? null : Number(next) - own.score,
    neighbours: listed.filter((s) => s !== own),
  };
}
