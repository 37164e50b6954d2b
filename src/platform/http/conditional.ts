import type Koa from 'koa';

const opaque = (etag: string) => etag.trim().replace(/^W\//, '');

/**
 * Returns whether the `If-None-Match` header contains an ETag. Koa's `ctx.fresh` is not used, because it is false with `Cache-Control: no-cache`, which
 * `fetch` sends together with `If-None-Match` and which is meant for proxies.
 */
export function matchesETag(ctx: Koa.Context, etag: string): boolean {
  const known = ctx.headers['if-none-match'];
  return known !== undefined && (known === '*' || known.split(',').some((one) => opaque(one) === opaque(etag)));
}

/**
 * Sets `ETag` and `Cache-Control` of a response, and turns it into a 304 when the client has this version. Precondition: status and body are set.
 * @param tag hash of the body from `encodeBody`
 */
export function applyETag(ctx: Koa.Context, tag: string, cacheControl: string): void {
  const etag = `"${tag}"`;
  ctx.set('Cache-Control', cacheControl);
  ctx.set('ETag', etag);
  if (matchesETag(ctx, etag)) {
    ctx.status = 304;
    ctx.body = null;
  }
}
