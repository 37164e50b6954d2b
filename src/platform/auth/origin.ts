import type { IncomingHttpHeaders } from 'node:http';
import type Koa from 'koa';
import type { Config } from '#config';
import { fail } from '#lib/errors.ts';

const UNSAFE = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const EXPOSED = 'X-Total-Count, ETag, Retry-After, Location, X-Request-Id';
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, traceparent';

/**
 * Returns whether a request comes from a page of this service, from an allowed origin, or from a client that is not a browser. The origin `null` of a browser
 * that hides its origin is not allowed.
 */
export function originAllowed(config: Config, headers: IncomingHttpHeaders): boolean {
  if (headers.origin !== undefined) return config.allowedOrigins.includes(headers.origin);
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** Rejects unsafe methods from pages of other origins. @throws 403 */
export function checkOrigin(config: Config, ctx: Koa.Context): void {
  if (UNSAFE.has(ctx.method) && !originAllowed(config, ctx.headers)) throw fail(403, 'Origin must be that of this service or an allowed one');
}

/**
 * Rejects unsafe methods from pages of any other origin, even an allowed one. It protects routes with credentials that browsers send automatically, such as
 * HTTP Basic. The own origin is `PUBLIC_URL` or the scheme and host of the request.
 * @throws 403
 */
export function checkSameOrigin(config: Config, ctx: Koa.Context): void {
  if (!UNSAFE.has(ctx.method)) return;
  const { origin, 'sec-fetch-site': site } = ctx.headers;
  const isOurs = origin === undefined || origin === config.publicUrl.origin || origin === `${ctx.protocol}://${ctx.host}`;
  if (!isOurs || !(site === undefined || site === 'same-origin' || site === 'none')) throw fail(403, 'Origin must be that of this service');
}

/** Koa middleware: sends CORS headers with credentials to allowed origins and answers their preflights. Other origins get no CORS headers, so browsers block them. */
export function cors(config: Config): Koa.Middleware {
  const allowed = new Set(config.allowedOrigins);
  return (ctx, next) => {
    const { origin } = ctx.headers;
    ctx.res.setHeader('Vary', 'Origin');
    if (origin === undefined || !allowed.has(origin)) return next();
    ctx.set('Access-Control-Allow-Origin', origin);
    ctx.set('Access-Control-Allow-Credentials', 'true');
    if (ctx.method === 'OPTIONS' && ctx.headers['access-control-request-method'] !== undefined) {
      ctx.set('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
      ctx.set('Access-Control-Allow-Headers', REQUEST_HEADERS);
      ctx.set('Access-Control-Max-Age', '600');
      ctx.status = 204;
      return Promise.resolve();
    }
    ctx.set('Access-Control-Expose-Headers', EXPOSED);
    return next();
  };
}
