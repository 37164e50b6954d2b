import type Koa from 'koa';

/**
 * Returns the time for which a client wants to wait for asynchronous work, ms, from its `Prefer` header (RFC 7240): `wait=5` means 5 s, and
 * `respond-async` without `wait` means 0.
 * @param maxMs the longest time that is returned; it is also returned without a `Prefer` header
 */
export function preferredWaitMs(ctx: Koa.Context, maxMs: number): number {
  const preferences = ctx.get('Prefer');
  const seconds = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/i.exec(preferences)?.[1];
  if (seconds !== undefined) return Math.min(Number(seconds) * 1_000, maxMs);
  return /(?:^|[,;\s])respond-async(?:$|[,;\s])/i.test(preferences) ? 0 : maxMs;
}
