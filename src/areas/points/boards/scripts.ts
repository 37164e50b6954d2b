import { type Neighbourhood, percentile, ranksOfPage } from '#lib/ranking.ts';
import { script } from '#platform/redis/script.ts';

/** How many wallets a neighbourhood shows on either side. */
export const NEIGHBOURS = 2;

/** A line of a board. */
export interface Ranked {
  rank: number;
  wallet: string;
  score: number;
}

/** Lua: [position, rank of the window's first, next better score, [wallet, score, …]] of a wallet in a sorted set; [-1] when unlisted. */
const NEIGHBOURHOOD = `
local function neighbourhood(key, wallet)
  local position = redis.call('ZREVRANK', key, wallet)
  if not position then return { -1 } end
  local from = math.max(position - ${NEIGHBOURS}, 0)
  local window = redis.call('ZRANGE', key, from, position + ${NEIGHBOURS}, 'REV', 'WITHSCORES')
  local own = window[(position - from) * 2 + 2]
  local next = ''
  if position > 0 then
    local above = redis.call('ZRANGE', key, '(' .. own, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    next = above[2] or ''
  end
  local first = 1
  if from > 0 then first = redis.call('ZCOUNT', key, '(' .. window[2], '+inf') + 1 end
  return { position, first, next, window }
end
`;

/** KEYS: ready, sorted set. ARGV: offset, limit, the wallet to centre on or ''. Returns [ready, n, offset, rank of the first, [wallet, score, …]]. */
export const boardPage = script<[ready: string, n: number, offset: number, first: number, window: string[]]>(`
local from = tonumber(ARGV[1])
local limit = tonumber(ARGV[2])
if ARGV[3] ~= '' then
  local position = redis.call('ZREVRANK', KEYS[2], ARGV[3])
  from = position and math.max(position - math.floor(limit / 2), 0) or 0
end
local window = redis.call('ZRANGE', KEYS[2], from, from + limit - 1, 'REV', 'WITHSCORES')
local first = 1
if from > 0 and window[2] then first = redis.call('ZCOUNT', KEYS[2], '(' .. window[2], '+inf') + 1 end
return { redis.call('GET', KEYS[1]) or '', redis.call('ZCARD', KEYS[2]), from, first, window }
`);

/** KEYS: ready, sorted set. ARGV: a wallet. Returns [ready, n, neighbourhood]. */
export const boardRank = script<[ready: string, n: number, found: FoundWindow]>(`${NEIGHBOURHOOD}
return { redis.call('GET', KEYS[1]) or '', redis.call('ZCARD', KEYS[2]), neighbourhood(KEYS[2], ARGV[1]) }
`);

/** KEYS: ready, sorted set. ARGV: wallets. Returns [ready, rank or 0 per wallet]. */
export const boardRanks = script<[ready: string, ranks: number[]]>(`
local ranks = {}
for i, wallet in ipairs(ARGV) do
  local score = redis.call('ZSCORE', KEYS[2], wallet)
  ranks[i] = score and redis.call('ZCOUNT', KEYS[2], '(' .. score, '+inf') + 1 or 0
end
return { redis.call('GET', KEYS[1]) or '', ranks }
`);

/**
 * KEYS: ready, versions, all, day, week, month, year. ARGV: four expiry times (ms), number of standings, per standing wallet,
 * version and five values ('' = not in the current bucket), then the wallets whose neighbourhood is asked for.
 * Takes standings that are newer than what the board shows, a few commands for all of them; a wallet comes once.
 * Returns [ready, n, neighbourhood per wallet asked].
 */
export const applyBoard = script<[ready: string, n: number, ...found: FoundWindow[]]>(`${NEIGHBOURHOOD}
local n = tonumber(ARGV[5])
if n > 0 then
  local wallets = {}
  for i = 1, n do wallets[i] = ARGV[6 + (i - 1) * 7] end
  local known = redis.call('HMGET', KEYS[2], unpack(wallets))
  local versions, better, gone = {}, {}, {}
  for k = 3, 7 do better[k], gone[k] = {}, {} end
  for i, wallet in ipairs(wallets) do
    local at = 6 + (i - 1) * 7
    if not known[i] or tonumber(known[i]) < tonumber(ARGV[at + 1]) then
      versions[#versions + 1] = wallet
      versions[#versions + 1] = ARGV[at + 1]
      for k = 3, 7 do
        local value = ARGV[at + k - 1]
        if value ~= '' then
          if tonumber(value) > 0 then
            better[k][#better[k] + 1] = value
            better[k][#better[k] + 1] = wallet
          else
            gone[k][#gone[k] + 1] = wallet
          end
        end
      end
    end
  end
  if #versions > 0 then redis.call('HSET', KEYS[2], unpack(versions)) end
  for k = 3, 7 do
    if #better[k] > 0 then redis.call('ZADD', KEYS[k], unpack(better[k])) end
    if #gone[k] > 0 then redis.call('ZREM', KEYS[k], unpack(gone[k])) end
    if k > 3 then redis.call('PEXPIREAT', KEYS[k], ARGV[k - 3]) end
  end
end
local out = { redis.call('GET', KEYS[1]) or '', redis.call('ZCARD', KEYS[3]) }
for i = 6 + n * 7, #ARGV do out[#out + 1] = neighbourhood(KEYS[3], ARGV[i]) end
return out
`);

/** Lua: which life of Redis this is. */
const LIFE = `local life = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or 'unknown'\n`;

/**
 * KEYS: ready, rebuilding, then all that the board consists of. ARGV: token.
 * Empties the board and claims it for a rebuild; nothing when it is complete already. Returns whether the rebuild is to go on.
 */
export const beginRebuild = script<0 | 1>(`${LIFE}
if redis.call('GET', KEYS[1]) == life then return 0 end
redis.call('UNLINK', KEYS[1], unpack(KEYS, 3))
redis.call('SET', KEYS[2], ARGV[1] .. ':' .. life, 'EX', 3600)
return 1
`);

/** KEYS: ready, rebuilding. ARGV: token. Declares the board complete if this is still the rebuild that it belongs to, and the same Redis. */
export const finishRebuild = script<'done' | 'taken' | 'lost'>(`${LIFE}
if redis.call('GET', KEYS[1]) == life then return 'taken' end
local claim = redis.call('GET', KEYS[2])
if not claim then return 'lost' end
if claim ~= ARGV[1] .. ':' .. life then
  if string.sub(claim, -#life) == life then return 'taken' end
  return 'lost'
end
redis.call('SET', KEYS[1], life)
redis.call('DEL', KEYS[2])
return 'done'
`);

/** KEYS: ready. ARGV: life. Takes back the completeness that another life of Redis declared. Returns 1 when the board is not complete. */
export const doubtBoard = script<0 | 1>(`
local ready = redis.call('GET', KEYS[1])
if ready == ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
`);

/** What the Lua function `neighbourhood` returns; only the position, -1, of a wallet that is not listed. */
export type FoundWindow = [position: number, first?: number, next?: string, window?: string[]];

/** [wallet, score, …] with ranks. @param first rank of the first @param offset zero-based position of the first */
export function rankedWindow(window: readonly string[], first: number, offset: number): Ranked[] {
  const shown: { wallet: string; score: number }[] = [];
  for (let i = 0; i + 1 < window.length; i += 2) shown.push({ wallet: window[i] ?? '', score: Number(window[i + 1]) });
  const ranks = ranksOfPage(
    shown.map((line) => line.score),
    first,
    offset,
  );
  return shown.map(({ wallet, score }, i) => ({ rank: ranks[i] ?? 0, wallet, score }));
}

/** What the Lua function `neighbourhood` found, as it is told. @param n how many wallets are listed */
export function neighbourhoodOf([position, first = 1, next = '', window = []]: FoundWindow, n: number): Neighbourhood {
  const offset = Math.max(position - NEIGHBOURS, 0);
  const listed = rankedWindow(window, first, offset);
  const own = listed[position - offset];
  if (position < 0 || !own) return { rank: null, score: 0, percentile: null, pointsToNext: null, neighbours: [] };
  return {
    rank: own.rank,
    score: own.score,
    percentile: percentile(own.rank, n),
    pointsToNext: next === '' ? null : Number(next) - own.score,
    neighbours: listed.filter((line) => line !== own),
  };
}
