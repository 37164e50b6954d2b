import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Random bytes are requested from the system 4,096 at a time, because requesting 16 bytes per id takes longer than the rest of `newId`. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** Returns a new UUID of version 7. Later ids sort after earlier ids, so new rows are inserted at the end of an index. */
export function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + 16);
  used += 16;
  return v7({ random });
}

const DAY_MS = 86_400_000;

/** Returns the first UUID of the time some days before a UUIDv7, like the SQL function `days_before`. */
export const daysBefore = (id: string, days: number): string => firstAt(timeOf(id) - days * DAY_MS);

/** Returns the first UUID of the time in 24 hours. The ids of all existing rows are smaller, even if the clock of another process is some hours ahead. */
export const tomorrow = (): string => firstAt(timeOf(newId()) + DAY_MS);

/** Returns the time in a UUIDv7, ms since 1970. */
const timeOf = (id: string): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16);

/** Returns the first UUID of a time. @param ms ms since 1970 */
function firstAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/**
 * Returns the first and the last of some ids, both null for an empty list. A condition on both in a statement lets PostgreSQL skip the partitions of
 * other months before it opens them.
 * @param ids UUIDs in lower case
 */
export function rangeOf(ids: readonly string[]): [first: string | null, last: string | null] {
  let [first = null, last = null] = [ids[0], ids[0]];
  for (const id of ids) {
    if (first === null || id < first) first = id;
    if (last === null || id > last) last = id;
  }
  return [first, last];
}
