import type Koa from 'koa';

/**
 * How long a caller wants to wait for work that outlives requests, ms: `Prefer: wait=5` (RFC 7240), in seconds; `respond-async` alone: not at all.
 * @param mostMs how long it is at most, and without a preference
 */
export function preferredWait(ctx: Koa.Context, mostMs: number): number {
  const preferences = ctx.get('Prefer');
  const seconds = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/i.exec(preferences)?.[1];
  if (seconds !== undefined) return Math.min(Number(seconds) * 1_000, mostMs);
  return /(?:^|[,;\s])respond-async(?:$|[,;\s])/i.test(preferences) ? 0 : mostMs;
}
