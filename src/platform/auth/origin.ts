import type { IncomingHttpHeaders } from 'node:http';
import type Koa from 'koa';
import type { Config } from '#config';
import { fail } from '#lib/errors.ts';

const UNSAFE = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const EXPOSED = 'X-Total-Count, ETag, Retry-After, Location, X-Request-Id';
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, traceparent';

/** Whether a request comes from our own pages, an allowed origin, or no browser at all. `null` is a browser that hides its origin. */
export function originAllowed(config: Config, headers: IncomingHttpHeaders): boolean {
  if (headers.origin !== undefined) return config.allowedOrigins.includes(headers.origin);
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** Refuses unsafe methods from foreign pages. Webhooks are signed and come without. */
export function checkOrigin(config: Config, ctx: Koa.Context): void {
  if (UNSAFE.has(ctx.method) && !originAllowed(config, ctx.headers)) throw fail(403, 'Origin must be that of this service or an allowed one');
}

/**
 * Refuses unsafe methods from any page but our own: for what a browser authenticates by itself, as with HTTP Basic.
 * Ours is the origin of the configuration, or the one under which the request reached us.
 */
export function checkSameOrigin(config: Config, ctx: Koa.Context): void {
  if (!UNSAFE.has(ctx.method)) return;
  const { origin, 'sec-fetch-site': site } = ctx.headers;
  const isOurs = origin === undefined || origin === config.publicUrl.origin || origin === `${ctx.protocol}://${ctx.host}`;
  if (!isOurs || !(site === undefined || site === 'same-origin' || site === 'none')) throw fail(403, 'Origin must be that of this service');
}

/** CORS for allowed origins, with credentials; answers their preflights. To others it says nothing, and their browsers refuse. */
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
