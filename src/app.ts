import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import { routes } from './areas/index.ts';
import type { App } from './context.ts';
import { asRefusal } from './http/errors.ts';
import { mount } from './http/mount.ts';
import { cors } from './http/origin.ts';
import { openSessions } from './http/session.ts';

/** The HTTP application, middleware in order. It never listens, so tests can use it. */
export function createApp(app: App): Koa {
  const koa = new Koa({ proxy: app.config.trustProxy });
  koa.silent = true;
  koa.use(requests(app));
  koa.use(cors(app.config));
  koa.use(mount(app, Object.values(routes).flat(), openSessions(app, koa)));
  return koa;
}

/** Names the request, renders its errors, and logs it. */
function requests(app: App): Koa.Middleware {
  return async (ctx, next) => {
    const started = performance.now();
    const given = ctx.get('X-Request-Id');
    const requestId = /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    ctx.state.requestId = requestId;
    ctx.set('X-Request-Id', requestId);
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.set('Cache-Control', 'no-store');
    try {
      await next();
    } catch (error) {
      const refusal = asRefusal(error);
      ctx.status = refusal.status;
      ctx.set(refusal.headers);
      if (!ctx.req.complete) ctx.set('Connection', 'close');
      ctx.type = 'application/json';
      ctx.body = JSON.stringify({ error: refusal.message });
      if (refusal.status >= 500) app.log[refusal.status === 500 ? 'error' : 'warn']({ err: error, requestId, path: ctx.path }, 'request failed');
    }
    if (app.log.isLevelEnabled('debug')) {
      app.log.debug({ requestId, method: ctx.method, path: ctx.path, status: ctx.status, ms: Math.round(performance.now() - started) }, 'request');
    }
  };
}
