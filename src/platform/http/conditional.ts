import type Koa from 'koa';

const opaque = (etag: string) => etag.trim().replace(/^W\//, '');

/**
 * Whether the caller already has the version that an ETag names.
 * Koa's own `fresh` gives way to `Cache-Control: no-cache`, which every `fetch` with an If-None-Match sends: it is meant for caches on the way.
 */
export function hasVersion(ctx: Koa.Context, etag: string): boolean {
  const known = ctx.headers['if-none-match'];
  return known !== undefined && (known === '*' || known.split(',').some((one) => opaque(one) === opaque(etag)));
}

/**
 * Tags an answer that has its status and body, and answers 304 to who has it already.
 * @param tag the hash of its bytes, as `encoded` makes it
 */
export function conditional(ctx: Koa.Context, tag: string, cacheControl: string): void {
  const etag = `"${tag}"`;
  ctx.set('Cache-Control', cacheControl);
  ctx.set('ETag', etag);
  if (hasVersion(ctx, etag)) {
    ctx.status = 304;
    ctx.body = null;
  }
}
