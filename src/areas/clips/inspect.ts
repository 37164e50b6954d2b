import { setTimeout as sleep } from 'node:timers/promises';
import { batching } from '#lib/concurrency/batching.ts';
import { unavailable } from '#lib/errors.ts';
import { perApp } from '#platform/app.ts';
import type { UploadDraft } from '#platform/storage/upload-draft.ts';
import { openThread, type Thread } from '#platform/threads/worker-thread.ts';
import type { MediaInspector } from './inspect-thread.ts';
import type { MediaType } from './media-type.ts';

/** Maximum time of the inspection of one file, ms. A process that was stopped or gets too little CPU needs longer for any file, so the file is not refused. */
const TIMEOUT_MS = 10_000;
/**
 * Maximum CPU time of the inspection of one file, ms. A file that needs more is refused. Most files need less than half a second with the start of the
 * thread, but the parser loops for ever on a WebM file with unknown elements at its end.
 */
const MAX_CPU_MS = 2_000;
/** Interval at which the CPU time is read, ms. */
const LOOK_MS = 250;
/** Maximum memory of the inspection of one file. A file that needs more is refused. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32 };
/** Maximum concurrent inspections of a process. Further files wait. */
const MAX_CONCURRENT = 2;

type VideoType = Exclude<MediaType, 'image/gif'>;

interface Inspection {
  readonly draft: UploadDraft;
  readonly type: VideoType;
  isVideo?: boolean;
}

/**
 * Inspects a file in a worker thread of its own, because a hostile file could make the parser loop or fill the memory. The thread ends with the
 * inspection.
 * @returns whether the file has the structure of its type
 * @throws 503 when the inspection needs more time than `timeoutMs`, or the thread cannot run
 */
export async function inspect(draft: UploadDraft, type: VideoType, timeoutMs = TIMEOUT_MS): Promise<boolean> {
  const thread = openThread<MediaInspector>(new URL('./inspect-thread.ts', import.meta.url), LIMITS);
  const late = new AbortController();
  try {
    const inspected = thread.remote.isVideo(draft.descriptor, draft.bytes, type).catch((error: unknown) => {
      if (exceedsMemory(error)) return false;
      throw notInspected();
    });
    const timeout = sleep(timeoutMs, undefined, { signal: late.signal, ref: false }).then(() => {
      throw notInspected();
    });
    return await Promise.race([inspected, timeout, untilLooping(thread, late.signal)]);
  } finally {
    late.abort();
    await thread.close();
  }
}

const notInspected = () => unavailable('the file could not be inspected; try again', 5);

const exceedsMemory = (error: unknown): boolean => Error.isError(error) && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

/** Waits until a thread has used too much CPU time, so that its parser is probably in a loop. @returns false */
async function untilLooping(thread: Pick<Thread<MediaInspector>, 'cpuMs'>, signal: AbortSignal): Promise<false> {
  while (!signal.aborted && (await thread.cpuMs()) < MAX_CPU_MS) await sleep(LOOK_MS, undefined, { ref: false });
  return false;
}

const inspections = perApp(() =>
  batching<Inspection>(
    async (batch) => {
      for (const one of batch) one.isVideo = await inspect(one.draft, one.type);
    },
    { maxSize: 1, maxConcurrent: MAX_CONCURRENT, lingerMs: 0 },
  ),
);

/** Returns a function that returns whether a received video has the structure of its type. The function throws as `inspect` does. */
export const videoInspector = perApp((app) => async (draft: UploadDraft, type: VideoType): Promise<boolean> => {
  const inspection: Inspection = { draft, type };
  await app.state(inspections)(inspection);
  return inspection.isVideo ?? false;
});
