import type { Redis } from 'ioredis';
import { script } from '#platform/redis/script.ts';

/** Times of a play's session, ms. Tests use shorter times. */
export interface SessionTiming {
  /** Maximum silence of a session, also while its client reconnects. */
  silenceMs: number;
  /** Added to `silenceMs` for differences of clocks and delays of networks. */
  toleranceMs: number;
  /** Minimum interval between two counted heartbeats. */
  minIntervalMs: number;
  /** Expiry of the mark that an API process is alive, and the interval at which the process renews it. */
  aliveMs: number;
  refreshMs: number;
}
export const SESSION_TIMING: SessionTiming = { silenceMs: 15_000, toleranceMs: 2_000, minIntervalMs: 2_000, aliveMs: 5_000, refreshMs: 1_500 };

/** Returns the longest silence that does not break a session, ms. */
export const maxSilenceMs = (timing: SessionTiming): number => timing.silenceMs + timing.toleranceMs;

/** The cause of a silence. */
export type GapCause = 'client' | 'service';

/** State of a play's session: a hash in Redis, and a copy in the process that holds the socket. Instants are ms since 1970. */
export interface PlaySession {
  /** Id of the API process that holds the socket, or held it last. */
  holder: string;
  /** Side that ended the last socket; '' while a socket is open, or when its process died. */
  left: '' | GapCause;
  /** Time at which the first socket opened, and time of the last sign of life: an opened socket or a counted heartbeat. */
  first: number;
  last: number;
  /** Number of counted heartbeats. */
  count: number;
  /** Length and start of the longest silence by cause. A silence that breaks the session is never replaced by a longer one. */
  clientGap: number;
  clientGapAt: number;
  serviceGap: number;
  serviceGapAt: number;
}

/** Records a silence from `from` to `to`, if it is the longest of its cause and no earlier one broke the session. */
export function recordGap(session: PlaySession, cause: GapCause, from: number, to: number, timing: SessionTiming): void {
  const [gap, gapAt] = cause === 'client' ? (['clientGap', 'clientGapAt'] as const) : (['serviceGap', 'serviceGapAt'] as const);
  if (session[gap] > maxSilenceMs(timing) || to - from <= session[gap]) return;
  session[gap] = to - from;
  session[gapAt] = from;
}

const sessionKey = (prefix: string, playId: string) => `${prefix}:beats:${playId}`;

/** Reads the state of a play's session; null when Redis has none. */
export async function readPlaySession(redis: Redis, prefix: string, playId: string): Promise<PlaySession | null> {
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

/** Writes the hash if it is missing, or if its holder is ARGV[1] and its `last` is ARGV[2] ('' = any). ARGV[3]: expiry, ms. */
const save = script<0 | 1>(`
local was = redis.call('HMGET', KEYS[1], 'holder', 'last')
if was[1] and (was[1] ~= ARGV[1] or (ARGV[2] ~= '' and was[2] ~= ARGV[2])) then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`);

/** The holder, and optionally the last sign of life, that the stored hash must have to be replaced. */
type ExpectedSession = Pick<PlaySession, 'holder'> & Partial<Pick<PlaySession, 'last'>>;

/**
 * Saves the state of a play's session, unless another process took the session over.
 * @param known state that the caller read before; null = there was none
 * @returns false when Redis has another state
 */
export async function savePlaySession(
  redis: Redis,
  prefix: string,
  playId: string,
  session: PlaySession,
  known: ExpectedSession | null,
  keepMs: number,
): Promise<boolean> {
  const fields = Object.entries(session).flat();
  return (await save(redis, [sessionKey(prefix, playId)], [known?.holder ?? '', known?.last ?? '', keepMs, ...fields])) === 1;
}
