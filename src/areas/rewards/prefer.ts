import type Koa from 'koa';

/**
 * How long a caller wants to wait for work that outlives requests, ms: `Prefer: wait=5` (RFC 7240), in seconds.
 * @param mostMs how long it is at most, and without a preference
 */
export function preferredWait(ctx: Koa.Context, mostMs: number): number {
  const seconds = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/i.exec(ctx.get('Prefer'))?.[1];
  return seconds === undefined ? mostMs : Math.min(Number(seconds) * 1_000, mostMs);
}
