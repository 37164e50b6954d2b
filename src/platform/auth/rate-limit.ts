import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { script } from '#platform/redis/script.ts';

/** A rate limit with a fixed window that starts at the first request. */
export interface RateLimit {
  /** Name of the counted action, unique in the service. It is part of the Redis key. */
  readonly name: string;
  /** Maximum requests per window. */
  readonly max: number;
  readonly windowMs: number;
}

/** Counts a request. Returns 0, or when the limit is exceeded the time until the window ends, ms. */
const count = script<number>(`
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if n <= tonumber(ARGV[1]) then return 0 end
return math.max(redis.call('PTTL', KEYS[1]), 1)
`);

/** Returns the Redis key of a caller's counter. @param caller such as a wallet or an address */
export const rateLimitKey = (app: Pick<App, 'config'>, { name }: RateLimit, caller: string): string =>
  `${app.config.redis.prefix}:limit:${name}:${caller}`;

/**
 * Counts a request of a caller and rejects it above the limit. The counter is shared by all processes. Rejected requests count too, but do not extend the
 * window. Costs one Redis command; while Redis is down it fails, so that the request gets a 503.
 * @param caller such as a wallet or an address
 * @throws 429 with `Retry-After`
 */
export async function enforceRateLimit(app: Pick<App, 'config' | 'redis'>, limit: RateLimit, caller: string): Promise<void> {
  const waitMs = await count(app.redis, [rateLimitKey(app, limit, caller)], [limit.max, limit.windowMs]);
  if (waitMs === 0) return;
  const message = `at most ${limit.max} are accepted in ${limit.windowMs / 1_000} s, try again later`;
  throw fail(429, message, { 'Retry-After': String(Math.ceil(waitMs / 1_000)) });
}
