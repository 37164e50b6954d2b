import { readFileSync } from 'node:fs';

/**
 * Returns the maximum number of open files and connections of this process. Returns Infinity if the system reports no maximum, so that open files do
 * not limit the number of streams.
 */
export function openFileLimit(): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
