import { randomBytes } from 'node:crypto';
import type { Config } from '#config';
import type { RedisClient } from '#platform/redis/connection.ts';
import { script } from '#platform/redis/script.ts';

/**
 * Returns the key of the Redis stream from which every API process serves `GET /events`. The stream is a copy of the outbox: when Redis loses it, the
 * publisher starts a new stream with a new epoch. The ids of the entries give the order of the events and reveal missing events:
 *   <publication>-0  the outbox row with this publication number; every number has one such entry
 *   <publication>-1  the message of the shared batched items of the rows up to this number
 *   <publication>-2  the marker at the start of a stream; earlier events are not in the stream
 * An entry has these fields, in this order: epoch of the stream, bytes published so far, event type, category, receiving wallet ('' = all), message
 * as JSON, packed batched items.
 */
export const eventStreamKey = (config: Config): string => `{${config.redis.prefix}:events}:feed`;

/** The Redis channel that wakes the publisher after a commit that wrote events. */
export const wakeUpChannel = (config: Config): string => `${config.redis.prefix}:events:wake-up`;

/** Maximum entries and maximum bytes of the Redis stream. They limit how many missed events a client can receive after a reconnect. */
export const STREAM_ENTRIES = 10_000;
export const STREAM_BYTES = 32 * 1024 * 1024;

/** Event type of the marker at the start of a stream. */
const MARKER = 'reset';

/** A position in the stream. */
export interface Position {
  readonly publication: number;
  readonly seq: number;
}

/** The last entry of a stream. */
export interface Tail extends Position {
  readonly id: string;
  readonly epoch: string;
}

/** An entry to append. */
export interface Draft {
  readonly id: string;
  readonly type: string;
  readonly category: string;
  /** The wallet whose subscribers receive the entry; '' = all subscribers. */
  readonly wallet: string;
  /** The message as one line of JSON; '' when the entry has only `own`. */
  readonly data: string;
  /** Packed batched items, each for its own wallet; '' = none. */
  readonly own: string;
}

/** An entry as read from Redis. */
export interface Entry extends Draft, Position {
  readonly epoch: string;
}

export const comparePositions = (a: Position, b: Position): number => a.publication - b.publication || a.seq - b.seq;

/** Returns whether `entry` directly follows `before`, so that no event is missing between them. Precondition: both have the same epoch. */
export function follows(before: Position, entry: Position): boolean {
  if (entry.publication === before.publication) return entry.seq > before.seq;
  return entry.publication === before.publication + 1 && entry.seq === 0;
}

/** Returns the position that the id of an entry names. */
function positionOf(id: string): Position {
  const [publication = Number.NaN, seq = Number.NaN] = id.split('-').map(Number);
  return { publication, seq };
}

type Raw = readonly [id: string, fields: readonly string[]];

export function decodeEntry([id, fields]: Raw): Entry {
  const [, epoch = '', , , , type = '', , category = '', , wallet = '', , data = '', , own = ''] = fields;
  return { id, ...positionOf(id), epoch, type, category, wallet, data, own };
}

// Returns the id and the epoch only, because an entry may have some 100 KB of packed items.
const tailOf = script<[] | [id: string, epoch: string]>(`
local tail = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return tail and { tail[1], tail[2][2] } or {}
`);

/** Returns the last entry of the stream; null when there is no stream. */
export async function readTail(redis: RedisClient, key: string): Promise<Tail | null> {
  const [id, epoch] = await tailOf(redis, [key]);
  return id === undefined || epoch === undefined ? null : { id, epoch, ...positionOf(id) };
}

const appendAll = script<0 | 1>(`
local tail = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not tail or tail[1] ~= ARGV[1] then return 0 end
local epoch, bytes = tail[2][2], tonumber(tail[2][4])
for i = 4, #ARGV, 6 do
  bytes = bytes + #ARGV[i + 4] + #ARGV[i + 5] + 150
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], ARGV[i], 'e', epoch, 'b', string.format('%.0f', bytes),
    't', ARGV[i + 1], 'c', ARGV[i + 2], 'w', ARGV[i + 3], 'd', ARGV[i + 4], 'u', ARGV[i + 5])
end
local length = redis.call('XLEN', KEYS[1])
while length > 1 do
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if bytes - tonumber(first[2][4]) <= tonumber(ARGV[3]) then break end
  length = math.max(1, math.floor(length * 0.9))
  redis.call('XTRIM', KEYS[1], 'MAXLEN', length)
end
return 1
`);

/**
 * Appends entries to the Redis stream, all or none.
 * @param tail the last entry that the caller read
 * @returns false when `tail` is not the last entry any more: another publisher appended, or Redis lost the stream
 */
export async function append(redis: RedisClient, key: string, tail: Tail, drafts: readonly Draft[]): Promise<boolean> {
  const args = drafts.flatMap((d) => [d.id, d.type, d.category, d.wallet, d.data, d.own]);
  return (await appendAll(redis, [key], [tail.id, STREAM_ENTRIES, STREAM_BYTES, ...args])) === 1;
}

const begin = script<0 | 1>(`
local tail = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if (tail and tail[1] or '') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1])
redis.call('XADD', KEYS[1], ARGV[2], 'e', ARGV[3], 'b', '0', 't', '${MARKER}', 'c', '', 'w', '', 'd', '', 'u', '')
return 1
`);

/**
 * Replaces the Redis stream by an empty one with a new epoch, so that subscribers receive a reset. Does nothing when `tail` is not the last entry any
 * more.
 * @param tail the last entry that the caller read; null = no stream
 * @param publication the number of the last event before the new stream
 */
export async function startStream(redis: RedisClient, key: string, tail: Tail | null, publication: number): Promise<void> {
  await begin(redis, [key], [tail?.id ?? '', `${publication}-2`, randomBytes(6).toString('hex')]);
}
