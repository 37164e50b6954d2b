import { fail, type HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { script } from '#platform/redis/script.ts';

/** A maximum number of requests per caller and window. A window has a fixed length and starts at the first request of the caller. */
export interface RateLimit {
  /** Name of the counted action, unique in the service. It is part of the Redis key. */
  readonly name: string;
  /** Maximum requests per window. */
  readonly max: number;
  readonly windowMs: number;
}

/**
 * Counts a request. KEYS: the counter of the caller. ARGV: the maximum requests per window, the length of the window in ms. Returns 0 while the count
 * is within the maximum, otherwise the time until the window ends, ms.
 */
const count = script<number>(`
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if n <= tonumber(ARGV[1]) then return 0 end
return math.max(redis.call('PTTL', KEYS[1]), 1)
`);

/**
 * Returns the Redis key of a caller's counter.
 * @param caller the id of the sender of the requests, such as a wallet
 */
export const rateLimitKey = (app: Pick<App, 'config'>, { name }: RateLimit, caller: string): string =>
  `${app.config.redis.prefix}:limit:${name}:${caller}`;

/**
 * Counts a request of a caller, and rejects the request when the caller exceeds the limit. All processes share the counter. A rejected request counts
 * too, but does not extend the window. Costs one Redis command. While Redis is down this function throws, so that the request gets a 503.
 * @param caller the id of the sender of the requests, such as a wallet
 * @throws 429 with `Retry-After` when the caller exceeds the limit
 */
export async function enforceRateLimit(app: Pick<App, 'config' | 'redis'>, limit: RateLimit, caller: string): Promise<void> {
  const waitMs = await count(app.redis, [rateLimitKey(app, limit, caller)], [limit.max, limit.windowMs]);
  if (waitMs === 0) return;
  const { name, max: quota, windowMs } = limit;
  throw tooManyRequests(`at most ${quota} requests are accepted in ${windowMs / 1_000} s, try again later`, { name, quota, windowMs, waitMs });
}

/**
 * Creates a 429 error with the headers `Retry-After`, `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
 * @param limit.name name of the limit in the headers
 * @param limit.quota the maximum number of requests per window, or in flight
 * @param limit.windowMs length of the window, ms; null when the limit bounds the requests in flight
 * @param limit.waitMs delay before a retry, ms
 */
export function tooManyRequests(
  message: string,
  limit: { readonly name: string; readonly quota: number; readonly windowMs: number | null; readonly waitMs: number },
): HttpError {
  const waitSec = Math.ceil(limit.waitMs / 1_000);
  const unit = limit.windowMs === null ? 'qu="concurrent-requests"' : `w=${Math.ceil(limit.windowMs / 1_000)}`;
  return fail(429, message, {
    'Retry-After': String(waitSec),
    'RateLimit-Policy': `"${limit.name}";q=${limit.quota};${unit}`,
    RateLimit: `"${limit.name}";r=0;t=${waitSec}`,
  });
}
