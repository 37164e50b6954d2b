import { createHash } from 'node:crypto';
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

/** The strong ETag of an answer: the hash of its bytes. */
export const etagOf = (bytes: string | Buffer): string => `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;

/** Tags an answer with the hash of its bytes, and answers 304 to who has it already. */
export function conditional(ctx: Koa.Context, text: string, cacheControl: string): void {
  const etag = etagOf(text);
  ctx.set('Cache-Control', cacheControl);
  ctx.set('ETag', etag);
  if (hasVersion(ctx, etag)) {
    ctx.status = 304;
    ctx.body = null;
  }
}
