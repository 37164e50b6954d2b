import { setTimeout as sleep } from 'node:timers/promises';
import { batching } from '#lib/concurrency/batching.ts';
import { perApp } from '#platform/app.ts';
import type { UploadDraft } from '#platform/storage/upload-draft.ts';
import { openThread, type Thread } from '#platform/threads/worker-thread.ts';
import type { MediaInspector } from './inspect-thread.ts';
import type { MediaType } from './media-type.ts';

/**
 * Maximum time, CPU time and memory of the inspection of one file. A file that needs more is refused. Most files need less than half a second of CPU time with the
 * start of the thread, but the parser loops for ever on a WebM file with unknown elements at its end.
 */
const TIMEOUT_MS = 10_000;
const MAX_CPU_MS = 2_000;
/** Interval at which the CPU time is read, ms. */
const LOOK_MS = 250;
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32 };
/** Maximum concurrent inspections of a process. Further files wait. */
const MAX_CONCURRENT = 2;

interface Inspection {
  readonly draft: UploadDraft;
  readonly type: Exclude<MediaType, 'image/gif'>;
  isVideo?: boolean;
}

/**
 * Inspects a file in a worker thread of its own, because a hostile file could make the parser loop or fill the memory. The thread ends with the
 * inspection.
 */
async function inspect({ draft, type }: Inspection): Promise<boolean> {
  const thread = openThread<MediaInspector>(new URL('./inspect-thread.ts', import.meta.url), LIMITS);
  const late = new AbortController();
  try {
    // A thread that exceeds its memory exits, and its call fails.
    const inspected = thread.remote.isVideo(draft.descriptor, draft.bytes, type).catch(() => false);
    return await Promise.race([inspected, sleep(TIMEOUT_MS, false, { signal: late.signal, ref: false }), untilLooping(thread, late.signal)]);
  } finally {
    late.abort();
    await thread.close();
  }
}

/** Waits until a thread has used too much CPU time, so that its parser is probably in a loop. @returns false */
async function untilLooping(thread: Pick<Thread<MediaInspector>, 'cpuMs'>, signal: AbortSignal): Promise<false> {
  while (!signal.aborted && (await thread.cpuMs()) < MAX_CPU_MS) await sleep(LOOK_MS, undefined, { ref: false });
  return false;
}

const inspections = perApp(() =>
  batching<Inspection>(
    async (batch) => {
      for (const one of batch) one.isVideo = await inspect(one);
    },
    { maxSize: 1, maxConcurrent: MAX_CONCURRENT, lingerMs: 0 },
  ),
);

/** Returns a function that returns whether a received video has the structure of its type. */
export const videoInspector = perApp((app) => async (draft: UploadDraft, type: Inspection['type']): Promise<boolean> => {
  const inspection: Inspection = { draft, type };
  await app.state(inspections)(inspection);
  return inspection.isVideo ?? false;
});
