import type { Step } from '../../../verify/src/index.ts';
import type { CheckMessage, CheckRequest, CheckResult } from './request.ts';

/** URL of the built worker. `build.ts` defines it. */
declare const CHECK_WORKER: string;

/**
 * Checks in a web worker.
 * @param onStep called with each step when it ends
 * @throws Error when the worker cannot run or fails; then there is no verdict
 */
export async function runCheck(request: CheckRequest, onStep: (step: Step) => void, signal: AbortSignal): Promise<CheckResult> {
  const worker = new Worker(CHECK_WORKER, { type: 'module' });
  try {
    return await new Promise<CheckResult>((resolve, reject) => {
      worker.addEventListener('message', ({ data }: MessageEvent<CheckMessage>) => {
        if (data.type === 'step') onStep(data.step);
        else if (data.type === 'result') resolve(data.result);
        else reject(new Error(data.message));
      });
      worker.addEventListener('error', () => reject(new Error('The program that checks cannot be loaded. Reload the page')));
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      worker.postMessage(request);
    });
  } finally {
    worker.terminate();
  }
}
