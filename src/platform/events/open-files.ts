import { readFileSync } from 'node:fs';

/** Returns the maximum number of open files and connections of this process; Infinity if the system does not report a limit. */
export function openFileLimit(): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
