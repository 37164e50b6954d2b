import type { Redis } from 'ioredis';
import { script } from '#platform/redis/script.ts';

/** The times of a play's session, ms. Tests use shorter ones. */
export interface Timing {
  /** A session may be silent this long, also while its socket reconnects. */
  silenceMs: number;
  /** On top of it, for clocks and networks. */
  toleranceMs: number;
  /** Beats that come sooner after the last are not counted. */
  minBeatMs: number;
  /** How long an API process counts as alive after it last said so, and how often it does. */
  aliveMs: number;
  refreshMs: number;
}
export const TIMING: Timing = { silenceMs: 15_000, toleranceMs: 2_000, minBeatMs: 2_000, aliveMs: 5_000, refreshMs: 1_500 };

/** A silence longer than this breaks a session, ms. */
export const limitOf = (timing: Timing): number => timing.silenceMs + timing.toleranceMs;

/** Who a silence is put down to. */
export type Cause = 'client' | 'service';

/** What is known of a play's session: one hash in Redis, and in the process that holds the socket. Instants are ms since 1970. */
export interface Beats {
  /** The API process that holds the socket, or held it last. */
  holder: string;
  /** How the last socket ended; '' while one is open, or when its process died. */
  left: '' | Cause;
  /** When the first socket opened, and the last sign of life: a socket opened, or a beat. */
  first: number;
  last: number;
  /** Beats counted. */
  count: number;
  /** The longest silences by who caused them, and when they began. The first that breaks the session stays. */
  clientGap: number;
  clientGapAt: number;
  serviceGap: number;
  serviceGapAt: number;
}

/** Notes a silence from `from` to `to`, if it is the longest so far and the session was not broken before. */
export function noteGap(beats: Beats, cause: Cause, from: number, to: number, timing: Timing): void {
  const [gap, gapAt] = cause === 'client' ? (['clientGap', 'clientGapAt'] as const) : (['serviceGap', 'serviceGapAt'] as const);
  if (beats[gap] > limitOf(timing) || to - from <= beats[gap]) return;
  beats[gap] = to - from;
  beats[gapAt] = from;
}

const beatsKey = (prefix: string, playId: string) => `${prefix}:beats:${playId}`;

/** Reads what is known of a play's session; null when Redis knows nothing. */
export async function readBeats(redis: Redis, prefix: string, playId: string): Promise<Beats | null> {
  const hash = await redis.hgetall(beatsKey(prefix, playId));
  if (hash.holder === undefined) return null;
  const number = (field: keyof Beats) => Number(hash[field] ?? 0);
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

/** Writes the hash where it is missing, or held by ARGV[1] and last touched at ARGV[2] ('' = whenever). ARGV[3]: ms to keep it. */
const save = script<0 | 1>(`
local was = redis.call('HMGET', KEYS[1], 'holder', 'last')
if was[1] and (was[1] ~= ARGV[1] or (ARGV[2] ~= '' and was[2] ~= ARGV[2])) then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`);

/** Which hash may be replaced: that of a holder, as it was at its last sign of life if that is given. */
export type Known = Pick<Beats, 'holder'> & Partial<Pick<Beats, 'last'>>;

/**
 * Writes what is known of a play's session, unless another process took it over meanwhile.
 * @param known what the caller read; null = there was nothing
 * @returns false when Redis holds something else
 */
export async function saveBeats(redis: Redis, prefix: string, playId: string, beats: Beats, known: Known | null, keepMs: number): Promise<boolean> {
  const fields = Object.entries(beats).flat();
  return (await save(redis, [beatsKey(prefix, playId)], [known?.holder ?? '', known?.last ?? '', keepMs, ...fields])) === 1;
}
