/** A limit for the actions of each caller: at most `burst` at once, and `burst` per `windowMs` in the long run. */
export interface BucketLimit {
  readonly burst: number;
  readonly windowMs: number;
}

/** Maximum callers that are remembered. Above it, the callers that were idle for the longest time are forgotten, so that the memory is bounded. */
const MAX_CALLERS = 100_000;

/**
 * Creates one token bucket per caller. Each action takes a token; the tokens come back at a constant rate.
 * @returns a function that takes a token of a caller; it returns 0, or, when the caller has no token, the time until the next token, ms. `nowMs` must
 * be monotonic.
 */
export function tokenBuckets({ burst, windowMs }: BucketLimit, maxCallers = MAX_CALLERS): (caller: string, nowMs: number) => number {
  const msPerToken = windowMs / burst;
  /** Per caller, the time at which its bucket is full again. */
  const fullAt = new Map<string, number>();
  return (caller, nowMs) => {
    const full = Math.max(fullAt.get(caller) ?? 0, nowMs) + msPerToken;
    const waitMs = full - nowMs - windowMs;
    // The tolerance covers the rounding of the sums.
    if (waitMs > 1e-6) return waitMs;
    // Inserts the caller again, so that the first caller of the map is the one that was idle for the longest time.
    fullAt.delete(caller);
    fullAt.set(caller, full);
    const [idle] = fullAt.size > maxCallers ? fullAt.keys() : [];
    if (idle !== undefined) fullAt.delete(idle);
    return 0;
  };
}
