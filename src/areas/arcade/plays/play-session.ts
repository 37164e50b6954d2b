import type { RedisClient } from '#platform/redis/connection.ts';
import { script } from '#platform/redis/script.ts';

/** Time limits of a play's session, ms. Tests use shorter ones. */
export interface SessionTiming {
  /** Maximum silence of a session. The time in which a client reconnects counts as silence. */
  silenceMs: number;
  /** Additional silence that is allowed because of clock differences and network delays. */
  toleranceMs: number;
  /** Minimum interval between two counted heartbeats. */
  minIntervalMs: number;
  /** Expiry of the Redis key that marks an API process as alive, and the interval at which the process renews this key. */
  aliveMs: number;
  refreshMs: number;
}
export const SESSION_TIMING: SessionTiming = { silenceMs: 15_000, toleranceMs: 2_000, minIntervalMs: 2_000, aliveMs: 5_000, refreshMs: 1_500 };

/** Returns the longest silence that does not break a session, ms. */
export const maxSilenceMs = (timing: SessionTiming): number => timing.silenceMs + timing.toleranceMs;

/** Side that caused a silence. */
export type GapCause = 'client' | 'service';

/** State of a play's session: a hash in Redis, and a copy in the process that holds the socket. Instants are ms since 1970. */
export interface PlaySession {
  /** Id of the API process that holds the session's socket, or that held the last socket. */
  holder: string;
  /** Side that ended the last socket. Empty while a socket is open, or when the process that held the socket died. */
  left: '' | GapCause;
  /** `first`: time at which the first socket opened. `last`: time of the last sign of life, which is an opened socket or a counted heartbeat. */
  first: number;
  last: number;
  /** Number of counted heartbeats. */
  count: number;
  /**
   * `clientGap` and `clientGapAt`: length and start of the longest silence that the client caused. `serviceGap` and `serviceGapAt`: the same for the
   * service. A silence that is long enough to break the session is never replaced by a longer one.
   */
  clientGap: number;
  clientGapAt: number;
  serviceGap: number;
  serviceGapAt: number;
}

/**
 * Records a silence from `from` to `to`. Skips it if a longer silence with the same cause is stored, or if a stored silence with the same cause has
 * already broken the session.
 */
export function recordGap(session: PlaySession, cause: GapCause, from: number, to: number, timing: SessionTiming): void {
  const [gap, gapAt] = cause === 'client' ? (['clientGap', 'clientGapAt'] as const) : (['serviceGap', 'serviceGapAt'] as const);
  if (session[gap] > maxSilenceMs(timing) || to - from <= session[gap]) return;
  session[gap] = to - from;
  session[gapAt] = from;
}

const sessionKey = (prefix: string, playId: string) => `${prefix}:beats:${playId}`;

/** Reads the state of a play's session; null when Redis has none. */
export async function readPlaySession(redis: RedisClient, prefix: string, playId: string): Promise<PlaySession | null> {
  const hash = await redis.hgetall(sessionKey(prefix, playId));
  if (hash.holder === undefined) return null;
  const number = (field: keyof PlaySession) => Number(hash[field] ?? 0);
  return {
    holder: hash.holder,
    left: hash.left === 'client' || hash.left === 'service' ? hash.left : '',
    first: number('first'),
    last: number('last'),
    count: number('count'),
    clientGap: number('clientGap'),
    clientGapAt: number('clientGapAt'),
    serviceGap: number('serviceGap'),
    serviceGapAt: number('serviceGapAt'),
  };
}

/**
 * Lua: writes a session's hash if Redis has none, or if the stored hash is as expected. Returns 0 when the stored hash differs.
 *   KEYS[1]  the key of the hash
 *   ARGV[1]  expected field `holder`
 *   ARGV[2]  expected field `last`; '' allows any value
 *   ARGV[3]  expiry of the key, ms
 *   others   names and values of the fields to write
 */
const save = script<0 | 1>(`
local was = redis.call('HMGET', KEYS[1], 'holder', 'last')
if was[1] and (was[1] ~= ARGV[1] or (ARGV[2] ~= '' and was[2] ~= ARGV[2])) then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`);

/** The value of `holder` in the session of a play that a newer play of the wallet ended. */
export const ENDED_HOLDER = 'ended';

/** Lua: takes a session from its holder, if Redis has the session. KEYS[1]: the key of the hash. ARGV[1]: the new field `holder`. */
const takeFromHolder = script<0 | 1>(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'holder', ARGV[1])
return 1
`);

/**
 * Marks the session of a play as ended. The process that holds the socket closes it when it saves the next heartbeat, because it is no longer the
 * holder.
 */
export async function endPlaySession(redis: RedisClient, prefix: string, playId: string): Promise<void> {
  await takeFromHolder(redis, [sessionKey(prefix, playId)], [ENDED_HOLDER]);
}

/** State that Redis must have for a save to succeed: the holder and, optionally, the last sign of life. */
type ExpectedSession = Pick<PlaySession, 'holder'> & Partial<Pick<PlaySession, 'last'>>;

/**
 * Saves the state of a play's session, unless another process has become its holder.
 * @param known the state that the caller read earlier; null when Redis had none
 * @returns false when the state in Redis is not `known`
 */
export async function savePlaySession(
  redis: RedisClient,
  prefix: string,
  playId: string,
  session: PlaySession,
  known: ExpectedSession | null,
  keepMs: number,
): Promise<boolean> {
  const fields = Object.entries(session).flat();
  return (await save(redis, [sessionKey(prefix, playId)], [known?.holder ?? '', known?.last ?? '', keepMs, ...fields])) === 1;
}
