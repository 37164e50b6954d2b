import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Config } from '#config';

/**
 * The feed: the Redis stream from which every API process serves `GET /events`. Not the record: it can be lost, and is begun anew.
 * Entry ids tell order and leave no gap unnoticed:
 *   <publication>-0  the outbox row of that number; every number has one
 *   <publication>-1  the scores of the rows up to that number, aggregated
 *   <publication>-2  the marker that a feed begins with, of a new epoch; what was published before is not in it
 * Fields, in this order: epoch, bytes published so far, type, category, wallet ('' = everybody), data, own score updates.
 */
export const eventStreamKey = (config: Config): string => `{${config.redis.prefix}:events}:feed`;

/** The Redis channel that wakes the publisher after a commit that wrote events. */
export const wakeUpChannel = (config: Config): string => `${config.redis.prefix}:events:wake-up`;

/** How much history is kept for clients that resume. */
export const FEED_ENTRIES = 10_000;
export const FEED_BYTES = 32 * 1024 * 1024;

/** The type of the marker. */
export const MARKER = 'reset';

/** A place in the feed. */
export interface Position {
  readonly publication: number;
  readonly seq: number;
}

/** The last entry of a feed. */
export interface Tail extends Position {
  readonly id: string;
  readonly epoch: string;
}

/** An entry to be appended. */
export interface Draft {
  readonly id: string;
  readonly type: string;
  readonly category: string;
  /** Only this wallet's streams get it; '' = all. */
  readonly wallet: string;
  /** What subscribers get: one line of JSON; '' = nothing but `own`. */
  readonly data: string;
  /** Score updates, each for its own wallet: JSON of `OwnScores`; '' = none. */
  readonly own: string;
}

/** An entry as it is read. */
export interface Entry extends Draft, Position {
  readonly epoch: string;
}

export const comparePositions = (a: Position, b: Position): number => a.publication - b.publication || a.seq - b.seq;

/** Whether nothing can have been between two entries of one epoch. */
export function follows(before: Position, entry: Position): boolean {
  if (entry.publication === before.publication) return entry.seq > before.seq;
  return entry.publication === before.publication + 1 && entry.seq === 0;
}

type Raw = readonly [id: string, fields: readonly string[]];

export function decodeEntry([id, fields]: Raw): Entry {
  const [publication = Number.NaN, seq = Number.NaN] = id.split('-').map(Number);
  const [, epoch = '', , , , type = '', , category = '', , wallet = '', , data = '', , own = ''] = fields;
  return { id, publication, seq, epoch, type, category, wallet, data, own };
}

/** The last entry of the feed, or null when there is no feed. */
export async function readTail(redis: Redis, key: string): Promise<Tail | null> {
  const [last] = await redis.xrevrange(key, '+', '-', 'COUNT', 1);
  return last ? decodeEntry(last) : null;
}

const APPEND = `
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
`;

/**
 * Appends entries, all or none, if the feed still ends where its caller read it.
 * @returns false when it does not: somebody else appended, or the feed was lost
 */
export async function append(redis: Redis, key: string, tail: Tail, drafts: readonly Draft[]): Promise<boolean> {
  const args = drafts.flatMap((d) => [d.id, d.type, d.category, d.wallet, d.data, d.own]);
  return (await redis.eval(APPEND, 1, key, tail.id, FEED_ENTRIES, FEED_BYTES, ...args)) === 1;
}

const BEGIN = `
local tail = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if (tail and tail[1] or '') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1])
redis.call('XADD', KEYS[1], ARGV[2], 'e', ARGV[3], 'b', '0', 't', '${MARKER}', 'c', '', 'w', '', 'd', '', 'u', '')
return 1
`;

/**
 * Begins a feed of a new epoch, whose subscribers are told of a reset, if it still ends where its caller read it.
 * @param tail what is there now; null = nothing
 * @param publication the last number that the new feed will not hold
 */
export async function beginStream(redis: Redis, key: string, tail: Tail | null, publication: number): Promise<void> {
  await redis.eval(BEGIN, 1, key, tail?.id ?? '', `${publication}-2`, randomBytes(6).toString('hex'));
}
