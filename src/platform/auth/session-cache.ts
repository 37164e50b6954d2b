import { batching } from '#lib/concurrency/batching.ts';
import { type App, perApp } from '#platform/app.ts';
import { infoField, REPLICATION_ID, script } from '#platform/redis/script.ts';

/** Mark in the cache for an ended session. While the mark exists, no process caches the session again. */
export const ENDED = 'gone';
/** Mark in the cache for a session that is being ended. The session's row may still exist in PostgreSQL, so the next reader deletes the row. */
export const ENDING = 'ending';

/** Maximum sessions per call of the script that reads sessions. */
const MAX_READ = 100;

/**
 * Lua: sets the local variable `replication_id` to the id of the data set that copies belong to, or to '' when no copy counts. ARGV[1]: the kind of the
 * target. With Sentinels, no copy counts on a server without replicas: a primary that was replaced and answers again has none, and it does not have the
 * marks of the new primary.
 */
const DATA_SET = `${REPLICATION_ID}
if ARGV[1] == 'sentinel' then
  ${infoField('replicas', 'replication', 'connected_slaves', '0')}
  if replicas == '0' then replication_id = '' end
end
`;

/**
 * Lua: sets the mark of a session. KEYS: the mark. ARGV: the kind of the target, `ENDED` or `ENDING`, the lifetime of the mark in ms. With Sentinels, a
 * server without replicas refuses the mark, because the new primary would not receive it.
 */
const setMark = script<'OK'>(`${DATA_SET}
if ARGV[1] == 'sentinel' and replication_id == '' then
  return redis.error_reply('NOREPLICAS this primary has no replica, so another server may have replaced it')
end
return redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
`);

/** Marks a session as ended or being ended. @param ttl lifetime of the mark, ms @throws when another server may be the primary, because it lacks the mark */
export async function markSession(app: App, key: string, mark: typeof ENDED | typeof ENDING, ttl: number): Promise<void> {
  await setMark(app.redis, [key], [app.config.redis.target.kind, mark, ttl]);
}

/**
 * Lua: reads sessions. KEYS: the mark and the cached copy of each session. ARGV: the kind of the target. Returns the id of the data set, then for each
 * session [`ENDED`, `ENDING` or '' for no mark, the cached session or '']. A copy with another id does not count, because a server that lost its latest
 * writes may have lost the mark.
 */
const readAll = script<[replicationId: string, ...sessions: [mark: string, session: string][]]>(`${DATA_SET}
local values, reply = redis.call('MGET', unpack(KEYS)), { replication_id }
for i = 1, #KEYS, 2 do
  local mark, copy = values[i], values[i + 1]
  if mark == '${ENDED}' or mark == '${ENDING}' then
    reply[#reply + 1] = { mark, '' }
  elseif copy and replication_id ~= '' and string.sub(copy, 1, #replication_id) == replication_id then
    reply[#reply + 1] = { '', string.sub(copy, #replication_id + 2) }
  else
    reply[#reply + 1] = { '', '' }
  end
end
return reply
`);

/** The state of a session in Redis. */
interface CachedSession {
  /** `ENDED`, `ENDING` or '' for no mark. */
  readonly mark: string;
  /** The encoded session; '' when it is not cached. */
  readonly copy: string;
  /** The id of the data set that was read; '' when no copy counts. */
  readonly replicationId: string;
}

/** A session to read. `found` is set when the script has read the session. */
interface PendingRead {
  readonly keys: readonly [mark: string, copy: string];
  found?: CachedSession;
}

/**
 * Reads the sessions of requests that arrive at the same time with one call of the script, because the replication id costs more than a session. The
 * nodes of a cluster have different sessions, so a cluster reads each session alone.
 */
const reader = perApp((app) =>
  batching<PendingRead>(
    async (batch) => {
      const [replicationId, ...sessions] = await readAll(
        app.redis,
        batch.flatMap(({ keys }) => keys),
        [app.config.redis.target.kind],
      );
      for (const [i, [mark, copy]] of sessions.entries()) {
        const pending = batch[i];
        if (pending) pending.found = { mark, copy, replicationId };
      }
    },
    { maxSize: app.config.redis.target.kind === 'cluster' ? 1 : MAX_READ, maxConcurrent: Number.POSITIVE_INFINITY },
  ),
);

/** Reads the mark of a session and its cached copy. @param keys the keys of both */
export async function readCached(app: App, keys: readonly [mark: string, copy: string]): Promise<CachedSession> {
  const pending: PendingRead = { keys };
  await app.state(reader)(pending);
  if (!pending.found) throw new Error('the script returned fewer sessions than it was called with');
  return pending.found;
}

/**
 * Lua: caches a session, unless it has a mark, or Redis may have lost the mark since the session was read. KEYS: its mark and its copy. ARGV: the kind of
 * the target, the encoded session, the lifetime of the copy in ms, the id of the data set before the session was read from PostgreSQL.
 */
const writeUnlessEnded = script<0 | 1>(`${DATA_SET}
local mark = redis.call('GET', KEYS[1])
if mark == '${ENDED}' or mark == '${ENDING}' or replication_id ~= ARGV[4] then return 0 end
redis.call('SET', KEYS[2], replication_id .. ' ' .. ARGV[2], 'PX', ARGV[3])
return 1
`);

/** A session to cache. */
interface Copy {
  /** The encoded session. */
  readonly session: string;
  /** Lifetime of the copy, ms. */
  readonly ttl: number;
  /** The id of the data set before the session was read from PostgreSQL; '' when no copy counts. */
  readonly replicationId: string;
}

/** Caches a session, unless it has a mark, or Redis may have lost the mark since the session was read. @param keys the keys of its mark and its copy */
export async function cacheUnlessEnded(app: App, keys: readonly [mark: string, copy: string], copy: Copy): Promise<void> {
  if (copy.replicationId === '') return;
  await writeUnlessEnded(app.redis, keys, [app.config.redis.target.kind, copy.session, copy.ttl, copy.replicationId]);
}
