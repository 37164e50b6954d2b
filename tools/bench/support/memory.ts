import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { collectedFile } from './collected-file.ts';

/** Maximum time for a garbage collection, ms. */
const TIMEOUT_MS = 30_000;

/** Node options of a process for `collectedBytes`. */
export const COLLECTOR_OPTIONS = `--import=${pathToFileURL(join(import.meta.dirname, 'collector.ts')).href}`;

/** Returns the resident memory of a process, bytes, without kernel memory (for example socket buffers). Linux only. */
export function residentBytes(pid: number): number {
  return 1_024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/**
 * Makes a Node process collect its garbage, then returns the resident memory of the process, bytes.
 * Precondition: the process was started with `COLLECTOR_OPTIONS`.
 */
export async function collectedBytes(pid: number): Promise<number> {
  const file = collectedFile(pid);
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (const end = Date.now() + TIMEOUT_MS; !existsSync(file); await sleep(20)) {
    if (Date.now() > end) throw new Error(`process ${pid} did not collect its garbage within ${TIMEOUT_MS / 1000} seconds`);
  }
  rmSync(file, { force: true });
  return residentBytes(pid);
}
