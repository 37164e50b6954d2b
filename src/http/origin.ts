import type { IncomingHttpHeaders } from 'node:http';
import type Koa from 'koa';
import type { Config } from '../config.ts';
import { fail } from '../lib/errors.ts';

const UNSAFE = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const EXPOSED = 'X-Total-Count, ETag, Retry-After, Location';

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

/** CORS for allowed origins, with credentials; answers preflights. */
export function cors(config: Config): Koa.Middleware {
  return async (ctx, next) => {
    const origin = ctx.headers.origin;
    ctx.vary('Origin');
    if (origin === undefined || !config.allowedOrigins.includes(origin)) {
      if (ctx.method === 'OPTIONS') ctx.status = 204;
      else await next();
      return;
    }
    ctx.set('Access-Control-Allow-Origin', origin);
    ctx.set('Access-Control-Allow-Credentials', 'true');
    if (ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== '') {
      ctx.set('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
      ctx.set('Access-Control-Allow-Headers', 'Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID');
      ctx.set('Access-Control-Max-Age', '600');
      ctx.status = 204;
      return;
    }
    ctx.set('Access-Control-Expose-Headers', EXPOSED);
    await next();
  };
}
