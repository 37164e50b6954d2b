import type { IncomingHttpHeaders } from 'node:http';
import type Koa from 'koa';
import type { Config } from '#config';
import { fail } from '#lib/errors.ts';

const UNSAFE = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const EXPOSED = 'X-Total-Count, X-Archived-Before, ETag, Retry-After, RateLimit, RateLimit-Policy, Location, X-Request-Id, Deprecation, Link';
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, traceparent';

/**
 * Returns whether a request comes from a page of this service, from a page of an allowed origin, or from a client that is not a browser. A browser
 * may hide the origin of a page and send `Origin: null`; such a request is not allowed.
 */
export function originAllowed(config: Config, headers: IncomingHttpHeaders): boolean {
  if (headers.origin !== undefined) return config.allowedOrigins.includes(headers.origin);
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin' || site === 'none';
}

/**
 * Returns the origin of the page that sent a request; null when the request is not from a browser. A browser leaves out `Origin` when a page of this
 * service reads from it.
 */
export function originOf(config: Config, headers: IncomingHttpHeaders): string | null {
  return headers.origin ?? (headers['sec-fetch-site'] === 'same-origin' ? config.publicUrl.origin : null);
}

/**
 * Rejects a request with an unsafe method (POST, PUT, PATCH, DELETE) from a page of an origin that is not allowed.
 * @throws 403
 */
export function checkOrigin(config: Config, ctx: Koa.Context): void {
  if (UNSAFE.has(ctx.method) && !originAllowed(config, ctx.headers))
    throw fail(403, 'Origin must be the origin of this service or an allowed origin');
}

/**
 * Rejects a request with an unsafe method from a page of any other origin, even of an allowed origin. This protects routes whose credentials browsers
 * send automatically, such as HTTP Basic. The origin of this service is `PUBLIC_URL`, or the scheme and host of the request.
 * @throws 403
 */
export function checkSameOrigin(config: Config, ctx: Koa.Context): void {
  if (!UNSAFE.has(ctx.method)) return;
  const { origin, 'sec-fetch-site': site } = ctx.headers;
  const isOurs = origin === undefined || origin === config.publicUrl.origin || origin === `${ctx.protocol}://${ctx.host}`;
  if (!isOurs || !(site === undefined || site === 'same-origin' || site === 'none')) throw fail(403, 'Origin must be that of this service');
}

/**
 * Koa middleware: sends CORS headers (with credentials) to allowed origins, and answers their preflight requests. A response to another origin has no
 * CORS headers, so the browser does not let the page read it.
 */
export function cors(config: Config): Koa.Middleware {
  const allowed = new Set(config.allowedOrigins);
  return (ctx, next) => {
    // `actionHeaders` has set the headers of an action.
    if (ctx.state.isAction) return next();
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
