import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { routes as allRoutes } from './areas/index.ts';
import { web } from './areas/web/index.ts';
import { jobDescriptions } from './job-descriptions.ts';
import { cors } from './platform/auth/origin.ts';
import { openSessions } from './platform/auth/sessions.ts';
import { delayWrongToken, WrongToken } from './platform/auth/wrong-tokens.ts';
import { actionHeaders } from './platform/http/actions.ts';
import { drain } from './platform/http/body.ts';
import { bullBoard } from './platform/http/bull-board.ts';
import { toHttpError } from './platform/http/errors.ts';
import { docs } from './platform/http/openapi/docs.ts';
import { STRICT_TRANSPORT } from './platform/http/page-headers.ts';
import { sendErrorPage } from './platform/http/pages/page.ts';
import type { AnyRoute } from './platform/http/route.ts';
import { createRouter } from './platform/http/router.ts';
import { beginRequest, observeRequest } from './platform/observability/metrics/metrics.ts';
import { traceRequest } from './platform/observability/tracing/tracing.ts';

/**
 * Creates the Koa application. It does not listen on a port, so tests can call it directly.
 * @param routes HTTP routes to serve; tests of the router pass their own routes
 */
export function createApp(app: App, routes: readonly AnyRoute[] = Object.values(allRoutes).flat()): Koa {
  const koa = new Koa({ proxy: app.config.trustProxy });
  koa.silent = true;
  koa.use(traceRequest);
  koa.use(handleRequest(app));
  if (app.config.mediaUrl) koa.use(onlyMedia(app.config.mediaUrl.host));
  // Bull Board (the dashboard of the queues) runs before the CORS middleware. Its responses have no CORS headers, so a web page of an allowed origin
  // cannot read them with the operator's credentials.
  koa.use(bullBoard(app, jobDescriptions, routes));
  koa.use(actionHeaders(app.config, routes));
  koa.use(cors(app.config));
  koa.use(docs(app, routes));
  koa.use(web(app));
  koa.use(createRouter(app, routes, openSessions(app, koa)));
  return koa;
}

const MEDIA_PATH = /^\/clips\/[^/]+\/media$/;

/** Koa middleware: the host of media files serves only media files, so that no page of the service has the same origin as the files of players. */
const onlyMedia =
  (host: string): Koa.Middleware =>
  async (ctx, next) => {
    if (ctx.host === host && !MEDIA_PATH.test(ctx.path)) throw fail(404, 'no such resource');
    await next();
  };

/** Koa middleware: sets the request id and default headers, renders errors, and records metrics and logs of the request. */
function handleRequest(app: App): Koa.Middleware {
  const isTls = app.config.publicUrl.protocol === 'https:';
  return async (ctx, next) => {
    const started = performance.now();
    beginRequest();
    const given = ctx.headers['x-request-id'];
    const requestId = typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    ctx.state.requestId = requestId;
    ctx.res.setHeader('X-Request-Id', requestId);
    ctx.res.setHeader('X-Content-Type-Options', 'nosniff');
    ctx.res.setHeader('Cache-Control', 'no-store');
    if (isTls) ctx.res.setHeader('Strict-Transport-Security', STRICT_TRANSPORT);
    try {
      await next();
    } catch (error) {
      if (error instanceof WrongToken) await delayWrongToken(app);
      const httpError = toHttpError(error);
      ctx.status = httpError.status;
      ctx.set(httpError.headers);
      if (!(await sendErrorPage(app, ctx, ctx.state.route, httpError))) {
        ctx.type = 'application/json';
        ctx.body = JSON.stringify(ctx.state.isAction ? { message: httpError.message } : { error: httpError.message });
      }
      // Reads the rest of the request body: if the connection closed while the client is still sending the body, the client would lose the response.
      if (!ctx.req.complete) drain(ctx.req);
      if (httpError.status >= 500)
        app.log[httpError.status === 500 ? 'error' : 'warn'](
          { err: error, requestId, path: ctx.path },
          'a request failed; the client gets a 5xx response',
        );
    }
    const ms = performance.now() - started;
    const route: AnyRoute | undefined = ctx.state.route;
    observeRequest(ctx.method, route?.path ?? ctx.state.page ?? 'none', ctx.status, ms);
    if (app.log.isLevelEnabled('debug')) {
      app.log.debug({ requestId, method: ctx.method, path: ctx.path, status: ctx.status, ms: Math.round(ms) }, 'request');
    }
  };
}
