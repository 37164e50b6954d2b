import type Koa from 'koa';

/**
 * Returns how long a request waits for asynchronous work, ms, by its `Prefer` header (RFC 7240): `wait=5` is in seconds, `respond-async` alone is 0.
 * @param maxMs maximum, and the value without the header
 */
export function preferredWaitMs(ctx: Koa.Context, maxMs: number): number {
  const preferences = ctx.get('Prefer');
  const seconds = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/i.exec(preferences)?.[1];
  if (seconds !== undefined) return Math.min(Number(seconds) * 1_000, maxMs);
  return /(?:^|[,;\s])respond-async(?:$|[,;\s])/i.test(preferences) ? 0 : maxMs;
}
