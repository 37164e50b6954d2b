import { REPLICATION_ID, script } from '#platform/redis/script.ts';

/** Mark in the cache for an ended session. While the mark exists, no process caches the session again. */
export const ENDED = 'gone';
/** Mark in the cache for a session that is being ended. The session's row may still exist in PostgreSQL, so the next reader deletes the row. */
export const ENDING = 'ending';

/**
 * Lua: reads a session. KEYS: the mark of the session; its cached copy. Returns [`ENDED`, `ENDING` or '' for no mark, the cached session or '', the
 * replication id]. A copy with another replication id does not count, because a server that lost its latest writes may have lost the mark.
 */
export const readCached = script<[mark: string, session: string, replicationId: string]>(`${REPLICATION_ID}
local mark = redis.call('GET', KEYS[1])
if mark == '${ENDED}' or mark == '${ENDING}' then return { mark, '', replication_id } end
local copy = redis.call('GET', KEYS[2])
if copy and string.sub(copy, 1, #replication_id) == replication_id then return { '', string.sub(copy, #replication_id + 2), replication_id } end
return { '', '', replication_id }
`);

/**
 * Lua: caches a session, unless it has a mark, or Redis may have lost the mark since the session was read. KEYS: as for `readCached`. ARGV: the encoded
 * session, the lifetime of the copy in ms, the replication id before the session was read from PostgreSQL.
 */
export const cacheUnlessEnded = script<0 | 1>(`${REPLICATION_ID}
local mark = redis.call('GET', KEYS[1])
if mark == '${ENDED}' or mark == '${ENDING}' or replication_id ~= ARGV[3] then return 0 end
redis.call('SET', KEYS[2], replication_id .. ' ' .. ARGV[1], 'PX', ARGV[2])
return 1
`);
