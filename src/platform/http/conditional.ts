import type Koa from 'koa';

const opaque = (etag: string) => etag.trim().replace(/^W\//, '');

/**
 * Returns whether the `If-None-Match` header of a request contains an ETag. Koa's `ctx.fresh` is not used, because it is false for every request with
 * `Cache-Control: no-cache`. `fetch` adds that header to requests with `If-None-Match`; the header is meant for proxies, not for this service.
 */
export function matchesETag(ctx: Koa.Context, etag: string): boolean {
  const known = ctx.headers['if-none-match'];
  return known !== undefined && (known === '*' || known.split(',').some((one) => opaque(one) === opaque(etag)));
}

/**
 * Sets `ETag` and `Cache-Control` of a response. Turns the response into a 304 when the client already has this version of the body. Precondition:
 * status and body of the response are set.
 * @param tag the hash of the body that `encodeBody` returned
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
