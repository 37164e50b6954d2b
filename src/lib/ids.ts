import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Random bytes are fetched by the page: asking the system for sixteen at a time costs more than all the rest of an id. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** A new UUID of version 7: ids made later sort later, so that indexes grow at one end. */
export function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + 16);
  used += 16;
  return v7({ random });
}
