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
