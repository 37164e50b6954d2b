import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import type { App } from '#platform/app.ts';
import { routes as allRoutes } from './areas/index.ts';
import { cors } from './platform/auth/origin.ts';
import { openSessions } from './platform/auth/sessions.ts';
import { drain } from './platform/http/body.ts';
import { bullBoard } from './platform/http/bull-board.ts';
import { asRefusal } from './platform/http/errors.ts';
import { docs } from './platform/http/openapi/docs.ts';
import type { AnyRoute } from './platform/http/route.ts';
import { createRouter } from './platform/http/router.ts';
import { beginRequest, observeRequest } from './platform/observability/metrics/metrics.ts';
import { traceRequest } from './platform/observability/tracing/tracing.ts';

/**
 * The HTTP application, middleware in order. It never listens, so tests can use it.
 * @param routes what it serves; tests of the kit bring their own
 */
export function createApp(app: App, routes: readonly AnyRoute[] = Object.values(allRoutes).flat()): Koa {
  const koa = new Koa({ proxy: app.config.trustProxy });
  koa.silent = true;
  koa.use(traceRequest);
  koa.use(requests(app));
  // Before CORS: an allowed origin may not read the board with an operator's password.
  koa.use(bullBoard(app));
  koa.use(cors(app.config));
  koa.use(docs(app, routes));
  koa.use(createRouter(app, routes, openSessions(app, koa)));
  return koa;
}

/** Names the request, renders its errors, counts it, and logs it. */
function requests(app: App): Koa.Middleware {
  return async (ctx, next) => {
    const started = performance.now();
    beginRequest();
    const given = ctx.headers['x-request-id'];
    const requestId = typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    ctx.state.requestId = requestId;
    ctx.res.setHeader('X-Request-Id', requestId);
    ctx.res.setHeader('X-Content-Type-Options', 'nosniff');
    ctx.res.setHeader('Cache-Control', 'no-store');
    try {
      await next();
    } catch (error) {
      const refusal = asRefusal(error);
      ctx.status = refusal.status;
      ctx.set(refusal.headers);
      ctx.type = 'application/json';
      ctx.body = JSON.stringify({ error: refusal.message });
      // Closing on a sender who is still writing would cost him the answer.
      if (!ctx.req.complete) drain(ctx.req);
      if (refusal.status >= 500) app.log[refusal.status === 500 ? 'error' : 'warn']({ err: error, requestId, path: ctx.path }, 'request failed');
    }
    const ms = performance.now() - started;
    const route: AnyRoute | undefined = ctx.state.route;
    observeRequest(ctx.method, route?.path ?? 'none', ctx.status, ms);
    if (app.log.isLevelEnabled('debug')) {
      app.log.debug({ requestId, method: ctx.method, path: ctx.path, status: ctx.status, ms: Math.round(ms) }, 'request');
    }
  };
}
