/** Retries of repeatable calls. */
export interface RetryPolicy {
  /** Maximum retries. */
  readonly maxRetries: number;
  /** Maximum delay before a retry, ms. If the service asks for a longer delay, the call is not retried. */
  readonly maxDelayMs: number;
}

const FIRST_DELAY_MS = 500;

/** Statuses of transient errors: the service or a proxy is busy, stopping, or waits for a dependency. */
const TRANSIENT_STATUSES = new Set([429, 502, 503, 504]);

/**
 * Returns whether a call may be repeated: it reads, it replaces or deletes the named object, or it has an `Idempotency-Key`.
 * A call with `If-Match` may not be repeated, because after a success the version differs and the repetition would be rejected. A call
 * whose body can be read only once may not either.
 */
export function isRepeatable(method: string, headers: Headers, body: unknown): boolean {
  if (headers.has('If-Match') || body instanceof ReadableStream) return false;
  return /^(?:get|head|put|delete)$/i.test(method) || headers.has('Idempotency-Key');
}

/** Returns whether a retry may succeed. 409 with Retry-After means that the same request is still being processed. */
export const isTransient = (status: number, retryAfter: number | null): boolean =>
  TRANSIENT_STATUSES.has(status) || (status === 409 && retryAfter !== null);

/**
 * Returns the delay before the next retry, ms.
 * @param failures number of failures so far, from 1 on
 * @param retryAfter delay requested by the service, seconds; the result is never shorter
 */
export function retryDelayMs(failures: number, retryAfter: number | null, firstMs = FIRST_DELAY_MS): number {
  const ms = retryAfter === null ? firstMs * 2 ** Math.min(failures - 1, 10) * (0.5 + Math.random()) : retryAfter * 1_000;
  // Adds jitter, so that clients with the same delay do not retry at the same time.
  return retryAfter === null ? ms : ms + Math.min(1_000, FIRST_DELAY_MS + ms / 5) * Math.random();
}

/** Waits. @throws the reason of the signal when it aborts */
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
