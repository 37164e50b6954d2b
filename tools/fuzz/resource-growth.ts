import { setTimeout as sleep } from 'node:timers/promises';
import { checkAfterwards } from './after-checks.ts';
import { fuzz, type Report, type RunOptions } from './run.ts';
import type { OwnTarget } from './target.ts';

const MB = 1024 * 1024;
/** Maximum growth of the heap of each process after the first quarter of the requests, bytes. The first quarter fills the caches. */
const MAX_HEAP_GROWTH = 50 * MB;
/** Maximum growth of the resident memory of the API process after the first quarter of the requests, bytes. */
const MAX_RSS_GROWTH = 400 * MB;
/**
 * Maximum increase, during the run, of the number of files and connections that the API process has open. A small increase is normal, because
 * connections to PostgreSQL and Redis are opened on demand.
 */
const MAX_NEW_FILES = 50;
/** Maximum time until the connections of the last requests are closed, ms. */
const CLOSE_TIMEOUT_MS = 10_000;

/** Memory of the processes, bytes: the heap of the API and of the worker after garbage collection, and the resident memory of the API. */
interface MemoryUse {
  readonly api: number;
  readonly worker: number;
  readonly resident: number;
}

async function measureMemory(target: OwnTarget): Promise<MemoryUse> {
  return { api: await target.heapBytes(target.api), worker: await target.heapBytes(target.worker), resident: target.memory() };
}

/**
 * Fuzzes a private system and checks the system afterwards.
 * @param onMemory a function that receives a description of the memory after every tenth of the requests. Without `onMemory`, memory is measured only
 * after a quarter of the requests and at the end, because measuring is slow.
 */
export async function fuzzOwnTarget(
  target: OwnTarget,
  options: RunOptions,
  onMemory?: (completed: number, describeMemory: string) => void,
): Promise<{ report: Report; after: readonly string[] }> {
  const opened = target.openFiles();
  const tenth = Math.ceil(options.requests / 10);
  const quarter = Math.ceil(options.requests / 4);
  let completed = 0;
  let atQuarter: Promise<MemoryUse | null> = Promise.resolve(null);
  const report = await fuzz(target, {
    ...options,
    cpuMs: target.cpuMs,
    onResult(draft, outcome) {
      options.onResult?.(draft, outcome);
      const at = ++completed;
      if (at !== quarter && (at % tenth !== 0 || !onMemory)) return;
      // Ignores a failed measurement: when a process has exited, `checkAfterwards` reports it.
      const measured = measureMemory(target).catch(() => null);
      if (at === quarter) atQuarter = measured;
      measured.then((memory) => memory && onMemory?.(at, describeMemory(memory))).catch(() => undefined);
    },
  });
  const after = await checkAfterwards(target, report.state);
  if (!target.api.isRunning || !target.worker.isRunning) return { report, after };
  const [before, now] = [await atQuarter, await measureMemory(target)];
  onMemory?.(completed, `${describeMemory(now)} at the end`);
  if (before) {
    after.push(...growthFault('the heap of the API', now.api - before.api, MAX_HEAP_GROWTH));
    after.push(...growthFault('the heap of the worker', now.worker - before.worker, MAX_HEAP_GROWTH));
    after.push(...growthFault('the resident memory of the API', now.resident - before.resident, MAX_RSS_GROWTH));
  }
  for (const until = Date.now() + CLOSE_TIMEOUT_MS; target.openFiles() > opened + MAX_NEW_FILES && Date.now() < until; ) await sleep(100);
  if (target.openFiles() > opened + MAX_NEW_FILES)
    after.push(`the API has ${target.openFiles()} open files and connections, ${opened} before the run`);
  return { report, after };
}

const inMB = (bytes: number) => `${(bytes / MB).toFixed(1)} MB`;
const describeMemory = ({ api, worker, resident }: MemoryUse) => `API heap ${inMB(api)}, API resident ${inMB(resident)}, worker heap ${inMB(worker)}`;
const growthFault = (name: string, bytes: number, max: number) =>
  bytes > max ? [`${name} grew by ${inMB(bytes)} since a quarter of the requests`] : [];
