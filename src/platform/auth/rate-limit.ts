import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { script } from '#platform/redis/script.ts';

/** At most so many in so long, counted from the first one. */
export interface Limit {
  /** What is counted; unique in the service. */
  readonly name: string;
  readonly most: number;
  readonly windowMs: number;
}

/** Counts one. Lua: 0, or, where it is one too many, ms until the window ends. */
const count = script<number>(`
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if n <= tonumber(ARGV[1]) then return 0 end
return math.max(redis.call('PTTL', KEYS[1]), 1)
`);

/** Where the count of somebody stands. */
export const limitKey = (app: Pick<App, 'config'>, { name }: Limit, who: string): string => `${app.config.redis.prefix}:limit:${name}:${who}`;

/**
 * Counts one more of somebody, in all processes together. What is refused counts, too, but prolongs nothing.
 * One command, which leaves in one pipeline with those of other requests; without Redis it fails, so that the request is 503.
 * @throws 429 with `Retry-After`
 */
export async function countWithin(app: Pick<App, 'config' | 'redis'>, limit: Limit, who: string): Promise<void> {
  const waitMs = await count(app.redis, [limitKey(app, limit, who)], [limit.most, limit.windowMs]);
  if (waitMs === 0) return;
  const message = `at most ${limit.most} are accepted in ${limit.windowMs / 1_000} s, try again later`;
  throw fail(429, message, { 'Retry-After': String(Math.ceil(waitMs / 1_000)) });
}
