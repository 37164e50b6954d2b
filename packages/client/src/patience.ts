/** When a call is made again. */
export interface Patience {
  /** How often at most. */
  readonly retries: number;
  /** The longest that one wait may be, ms: a service that asks for more is not waited for. */
  readonly longestMs: number;
}

const FIRST_MS = 500;

/** Refusals that pass: the service or a proxy is busy, stopping, or waits for something itself. */
const PASSING = new Set([429, 502, 503, 504]);

/**
 * Whether a call may be made twice: it reads, it replaces or deletes what it names, or it has an `Idempotency-Key`.
 * One with `If-Match` may not: done already, it would be refused for what it did itself. Nor one whose body can be read only once.
 */
export function isRepeatable(method: string, headers: Headers, body: unknown): boolean {
  if (headers.has('If-Match') || body instanceof ReadableStream) return false;
  return /^(?:get|head|put|delete)$/i.test(method) || headers.has('Idempotency-Key');
}

/** Whether the same request may fare better a little later. 409 with a time is a request that is still being worked on. */
export const isPassing = (status: number, retryAfter: number | null): boolean => PASSING.has(status) || (status === 409 && retryAfter !== null);

/**
 * How long to wait before the next try, ms.
 * @param failures how many there have been, from 1 on
 * @param retryAfter what was asked for, seconds; it is not undercut
 */
export function delayOf(failures: number, retryAfter: number | null, firstMs = FIRST_MS): number {
  const ms = retryAfter === null ? firstMs * 2 ** Math.min(failures - 1, 10) * (0.5 + Math.random()) : retryAfter * 1_000;
  // So that those who were told the same do not come back in step.
  return retryAfter === null ? ms : ms + Math.min(1_000, FIRST_MS + ms / 5) * Math.random();
}

/** Waits. @throws the signal's reason as soon as it is aborted */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
