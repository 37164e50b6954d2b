/** Limits for the retries of calls that may be repeated. */
export interface RetryPolicy {
  /** Maximum retries per call. */
  readonly maxRetries: number;
  /** Maximum delay before a retry, ms. If the service asks for a longer delay, the call is not retried. */
  readonly maxDelayMs: number;
}

const FIRST_DELAY_MS = 500;

/** Statuses of temporary errors: the service or a proxy is overloaded, shuts down, or waits for a dependency. */
const TRANSIENT_STATUSES = new Set([429, 502, 503, 504]);

/**
 * Returns whether a call may be repeated: it reads an object, it replaces or deletes the object that its path names, or it has an `Idempotency-Key`.
 * Two types of calls may never be repeated:
 * - a call with `If-Match`: the first call changes the version of the object, so the service would reject the repeated call;
 * - a call whose body is a stream: a stream can be read only once.
 */
export function isRepeatable(method: string, headers: Headers, body: unknown): boolean {
  if (headers.has('If-Match') || body instanceof ReadableStream) return false;
  return /^(?:get|head|put|delete)$/i.test(method) || headers.has('Idempotency-Key');
}

/** Returns whether a retry may succeed after an error response. A 409 with Retry-After means that the same request is still being processed. */
export const isTransient = (status: number, retryAfter: number | null): boolean =>
  TRANSIENT_STATUSES.has(status) || (status === 409 && retryAfter !== null);

/**
 * Returns the delay before the next retry, ms.
 * @param failures the number of failed attempts so far, at least 1
 * @param retryAfter the delay that the service requested, seconds, or null for no requested delay; the result is at least this delay
 * @param firstMs the average delay before the first retry when the service requested no delay, ms
 */
export function retryDelayMs(failures: number, retryAfter: number | null, firstMs = FIRST_DELAY_MS): number {
  const ms = retryAfter === null ? firstMs * 2 ** Math.min(failures - 1, 10) * (0.5 + Math.random()) : retryAfter * 1_000;
  // Adds jitter, so that clients that got the same delay do not retry at the same time.
  return retryAfter === null ? ms : ms + Math.min(1_000, FIRST_DELAY_MS + ms / 5) * Math.random();
}

/**
 * Waits.
 * @param ms the time to wait, ms
 * @throws the abort reason of the signal when the signal aborts
 */
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
