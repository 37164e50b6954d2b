import { type Neighbourhood, percentile, ranksOfPage } from '#lib/ranking.ts';
import { infoField, script } from '#platform/redis/script.ts';

/** Number of lines above a wallet, and below it, in its neighbourhood. */
export const NEIGHBOURS = 2;

/** A line of a board: a wallet with its rank and score. */
export interface RankedLine {
  rank: number;
  wallet: string;
  score: number;
}

/**
 * Lua function that reads the lines around a wallet in a sorted set. Returns [-1] when the wallet is not in the set. Otherwise, returns [zero-based
 * position of the wallet, rank of the first returned line, next better score or '', returned lines as the text `wallet score …`]. The lines are one text,
 * because Redis converts each element of a list separately.
 */
const NEIGHBOURHOOD = `
local call = redis.call
local function neighbourhood(key, wallet)
  local position = call('ZREVRANK', key, wallet)
  if not position then return { -1 } end
  local from = position > ${NEIGHBOURS} and position - ${NEIGHBOURS} or 0
  -- Also reads the line above the window. If its score differs from the score of the first line, the position of the first line is its rank.
  local above = from > 0 and 1 or 0
  local window = call('ZRANGE', key, from - above, position + ${NEIGHBOURS}, 'REV', 'WITHSCORES')
  local own = (position - from + above) * 2 + 2
  local next = ''
  if position > 0 then
    next = window[own - 2]
    if next == window[own] then
      local better = call('ZRANGE', key, '(' .. next, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
      next = better[2] or ''
    end
  end
  local first = from + 1
  if above == 1 and window[2] == window[4] then first = call('ZCOUNT', key, '(' .. window[4], '+inf') + 1 end
  return { position, first, next, table.concat(window, ' ', 1 + 2 * above) }
end
`;

/**
 * Lua: sets the local variable `run_id` to the run id of the Redis server that runs the script. The server has a new run id after a restart, and so does
 * the board after a failover or the move of its slot to another node.
 */
const RUN_ID = infoField('run_id', 'server', 'run_id', 'unknown');

/**
 * Lua: sets the local variable `complete` to 1 if the board is complete, otherwise to 0. KEYS[1]: the key that marks the board as complete. A mark with
 * another run id does not count, because this server may lack the latest writes: it loaded an older dump, or it was a replica. The script deletes this
 * mark, so that the board is not complete again when its former server becomes the primary again.
 */
const COMPLETE = `${RUN_ID}
local mark = redis.call('GET', KEYS[1])
local complete = mark == run_id and 1 or 0
if mark and complete == 0 then redis.call('DEL', KEYS[1]) end
`;

/**
 * Lua: reads a page of a board. KEYS: the key that marks the board as complete; the sorted set. ARGV: offset; limit; the wallet at the centre of the
 * page, or ''. A page around a wallet near the end of the board begins earlier, so that it is full. Returns [whether the board is complete, number of wallets, offset, rank of the first line, [wallet, score, …]].
 */
export const boardPage = script<[complete: 0 | 1, n: number, offset: number, first: number, window: string[]]>(`${COMPLETE}
local from = tonumber(ARGV[1])
local limit = tonumber(ARGV[2])
local n = redis.call('ZCARD', KEYS[2])
if ARGV[3] ~= '' then
  local position = redis.call('ZREVRANK', KEYS[2], ARGV[3]) or 0
  from = math.max(math.min(position - math.floor(limit / 2), n - limit), 0)
end
local window = redis.call('ZRANGE', KEYS[2], from, from + limit - 1, 'REV', 'WITHSCORES')
local first = 1
if from > 0 and window[2] then first = redis.call('ZCOUNT', KEYS[2], '(' .. window[2], '+inf') + 1 end
return { complete, n, from, first, window }
`);

/**
 * Lua: reads a wallet's neighbourhood. KEYS: the key that marks the board as complete; the sorted set. ARGV: the wallet. Returns [whether the
 * board is complete, number of wallets, neighbourhood].
 */
export const boardRank = script<[complete: 0 | 1, n: number, found: WindowReply]>(`${COMPLETE}${NEIGHBOURHOOD}
return { complete, redis.call('ZCARD', KEYS[2]), neighbourhood(KEYS[2], ARGV[1]) }
`);

/**
 * Lua: reads the values of wallets, and the ranks that given values have on a board. KEYS: the key that marks the board as complete; the sorted set.
 * ARGV: pairs of a wallet and a value ('' = no value). Returns [whether the board is complete, one pair per wallet: its value on the board ('' if it is not on
 * the board) and the rank of the given value, as if the wallet had this value (0 = no value)].
 */
export const boardRanks = script<[complete: 0 | 1, pairs: (string | number)[]]>(`${COMPLETE}
local wallets, found = {}, {}
for i = 1, #ARGV, 2 do wallets[#wallets + 1] = ARGV[i] end
for n, score in ipairs(redis.call('ZMSCORE', KEYS[2], unpack(wallets))) do
  local value, shown, rank = ARGV[2 * n], score or '', 0
  if value ~= '' then
    rank = redis.call('ZCOUNT', KEYS[2], '(' .. value, '+inf') + 1
    if shown ~= '' and tonumber(shown) > tonumber(value) then rank = rank - 1 end
  end
  found[2 * n - 1], found[2 * n] = shown, rank
end
return { complete, found }
`);

/**
 * Lua: writes standings to a board. Skips a standing if the board has the same or a newer version of this standing.
 *   KEYS[1]     the key that marks the board as complete
 *   KEYS[2]     hash that maps each wallet to the version of its standing on the board; half a version less if a sorted set did not get its value
 *   KEYS[3..7]  the sorted sets: all time, day, week, month, year
 *   KEYS[8..12] the sums of these sorted sets; only for a board of points
 *   ARGV[1..4]  expiry times of the sorted sets day, week, month and year, ms since 1970
 *   ARGV[5]     n, the number of standings, at most one per wallet
 *   next        n wallets; n versions; n gains: the number that the last change of the standing added to each of its values, '' if the number is not known;
 *               then for each sorted set n values ('' leaves the sorted set unchanged, '-' removes the wallet)
 *   last        the wallets whose neighbourhoods are returned
 * Returns [whether the board is complete, number of wallets, one neighbourhood per requested wallet].
 */
export const applyBoard = script<[complete: 0 | 1, n: number, ...found: WindowReply[]]>(`${COMPLETE}${NEIGHBOURHOOD}
local n = tonumber(ARGV[5])
local newer, versions, gains = {}, {}, {}
if n > 0 then
  local known = call('HMGET', KEYS[2], unpack(ARGV, 6, 5 + n))
  local size = 0
  for i = 1, n do
    local version, before = tonumber(ARGV[5 + n + i]), tonumber(known[i] or 0)
    if before < version then
      local j = size / 2 + 1
      newer[j] = i
      -- If the sorted sets have the values of the version before, their sums grow by the gain. Otherwise, the script reads the present values.
      gains[j] = KEYS[8] and before + 1 == version and tonumber(ARGV[5 + 2 * n + i]) or false
      versions[size + 1], versions[size + 2] = ARGV[5 + i], ARGV[5 + n + i]
      for k = 3, 7 do
        if ARGV[5 + k * n + i] == '' then versions[size + 2] = version - 0.5 end
      end
      size = size + 2
    end
  end
end
if #newer > 0 then
  call('HSET', KEYS[2], unpack(versions))
  for k = 3, 7 do
    local before_values, sum = 5 + k * n, KEYS[k + 5]
    local listed, unlisted, changed, difference = {}, {}, {}, 0
    local size = 0
    for j = 1, #newer do
      local wallet, value = versions[2 * j - 1], ARGV[before_values + newer[j]]
      if value == '-' then
        unlisted[#unlisted + 1] = wallet
      elseif value ~= '' then
        listed[size + 1], listed[size + 2] = value, wallet
        size = size + 2
        if gains[j] then
          difference = difference + gains[j]
        elseif sum then
          changed[#changed + 1] = wallet
          difference = difference + value
        end
      end
    end
    if sum then
      for _, wallet in ipairs(unlisted) do changed[#changed + 1] = wallet end
      if #changed > 0 then
        for _, score in ipairs(call('ZMSCORE', KEYS[k], unpack(changed))) do
          if score then difference = difference - score end
        end
      end
      if difference ~= 0 then call('INCRBY', sum, string.format('%.0f', difference)) end
    end
    local added = 0
    if size > 0 then added = call('ZADD', KEYS[k], unpack(listed)) end
    if #unlisted > 0 then call('ZREM', KEYS[k], unpack(unlisted)) end
    -- Only a write that adds wallets can create the sorted set and its sum.
    if k > 3 and added > 0 then
      call('PEXPIREAT', KEYS[k], ARGV[k - 3])
      if sum then call('PEXPIREAT', sum, ARGV[k - 3]) end
    end
  end
end
local out = { complete, call('ZCARD', KEYS[3]) }
for i = 6 + n * 8, #ARGV do out[#out + 1] = neighbourhood(KEYS[3], ARGV[i]) end
return out
`);

/**
 * Lua: reads the size of a board of points. KEYS: the key that marks the board as complete; the sorted set; its sum. Returns [whether the board is
 * complete, number of wallets, sum of their scores, best score or ''].
 */
export const boardSummary = script<[complete: 0 | 1, n: number, sum: string, best: string]>(`${COMPLETE}
local top = redis.call('ZRANGE', KEYS[2], 0, 0, 'REV', 'WITHSCORES')
return { complete, redis.call('ZCARD', KEYS[2]), redis.call('GET', KEYS[3]) or '0', top[2] or '' }
`);

/**
 * Lua: deletes a board that is not complete, and claims the board for a rebuild.
 *   KEYS[1]  the key that marks the board as complete
 *   KEYS[2]  the key that stores the claim
 *   others   the other keys of the board
 *   ARGV[1]  random token of the rebuild
 * Returns 1 when the caller must rebuild the board, 0 when the board is complete.
 */
export const beginRebuild = script<0 | 1>(`${RUN_ID}
if redis.call('GET', KEYS[1]) == run_id then return 0 end
redis.call('UNLINK', KEYS[1], unpack(KEYS, 3))
redis.call('SET', KEYS[2], ARGV[1] .. ':' .. run_id, 'EX', 3600)
return 1
`);

/**
 * Lua: marks a board as complete if the caller's rebuild still has the claim and Redis did not restart.
 *   KEYS[1]  the key that marks the board as complete
 *   KEYS[2]  the key that stores the claim
 *   ARGV[1]  random token of the rebuild
 * Returns 'done' on success, 'taken' when another rebuild has the claim or completed the board, 'lost' when Redis lost the board.
 */
export const finishRebuild = script<'done' | 'taken' | 'lost'>(`${RUN_ID}
if redis.call('GET', KEYS[1]) == run_id then return 'taken' end
local claim = redis.call('GET', KEYS[2])
if not claim then return 'lost' end
if claim ~= ARGV[1] .. ':' .. run_id then
  if string.sub(claim, -#run_id) == run_id then return 'taken' end
  return 'lost'
end
redis.call('SET', KEYS[1], run_id)
redis.call('DEL', KEYS[2])
return 'done'
`);

/** Lua: returns 1 when a board is complete, otherwise 0, and then no mark is left. KEYS: the key that marks the board as complete. */
export const checkBoard = script<0 | 1>(`${COMPLETE}return complete`);

/** Lua: returns 1 when a board is complete, otherwise 0. Writes nothing. KEYS: the key that marks the board as complete. */
export const isBoardComplete = script<0 | 1>(`${RUN_ID}return redis.call('GET', KEYS[1]) == run_id and 1 or 0`);

/** Reply of the Lua function `neighbourhood`: [-1] for a wallet that is not on the board. */
type WindowReply = [position: number, first?: number, next?: string, window?: string];

/**
 * Converts a window, which is a list of consecutive lines of a board, into lines with ranks.
 * @param window flat list [wallet, score, wallet, score, …]
 * @param first the rank of the line at the start of the window
 * @param offset the zero-based position of this line
 */
export function rankedWindow(window: readonly string[], first: number, offset: number): RankedLine[] {
  const shown: { wallet: string; score: number }[] = [];
  for (let i = 0; i + 1 < window.length; i += 2) shown.push({ wallet: window[i] ?? '', score: Number(window[i + 1]) });
  const ranks = ranksOfPage(
    shown.map((line) => line.score),
    first,
    offset,
  );
  return shown.map(({ wallet, score }, i) => ({ rank: ranks[i] ?? 0, wallet, score }));
}

/**
 * Converts a reply of the Lua function `neighbourhood` into a Neighbourhood.
 * @param n the number of wallets on the board
 */
export function neighbourhoodOf([position, first = 1, next = '', text = '']: WindowReply, n: number): Neighbourhood {
  const window = text === '' ? [] : text.split(' ');
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
