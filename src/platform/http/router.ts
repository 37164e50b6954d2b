import { Readable } from 'node:stream';
import { Router } from '@koa/router';
import type Koa from 'koa';
import { z } from 'zod';
import { fail, HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { recordAdminAction, requireAdminToken, requireInternalToken } from '#platform/auth/admin-tokens.ts';
import { requireBasic } from '#platform/auth/basic-auth.ts';
import { checkOrigin } from '#platform/auth/origin.ts';
import { isRestrictedSession, type SessionMiddleware, sessionRequired, sessionTokenOf, walletOf } from '#platform/auth/sessions.ts';
import type { WebhookSource } from '#platform/webhooks/config.ts';
import { countDelivery, readDelivery, storeOnce, type VerifiedDelivery } from '#platform/webhooks/receive.ts';
import { boundedStream, hasBody, isJson, MAX_JSON_BYTES, readJson } from './body.ts';
import { CachedBody, encodeBody } from './cached-body.ts';
import { applyETag } from './conditional.ts';
import { checkIdempotencyKey, runOnce } from './idempotency.ts';
import { inFlightOf, type Turn } from './in-flight.ts';
import { JsonText } from './json-text.ts';
import { readQuery } from './query.ts';
import { type AnyRoute, type Call, credentialsOf, errorStatusesOf, isBytes, isStream, type Load, loadOf, type Reply } from './route.ts';
import { describeIssue, validationError } from './validation-errors.ts';

const PARSING = { error: describeIssue };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

interface Caller {
  wallet: string | null;
  admin: string | null;
}

/** A route, and values that are computed from it once for all requests. */
interface Endpoint {
  readonly route: AnyRoute;
  /** Source of a webhook route; null for other routes. */
  readonly source: WebhookSource | null;
  readonly errorStatuses: ReadonlySet<number>;
  readonly load: Load;
}

/** Creates the router. For each request it finds the route, checks the origin, authenticates, validates, runs the handler, and checks and sends the response. */
export function createRouter(app: App, routes: readonly AnyRoute[], sessions: SessionMiddleware): Koa.Middleware {
  // One router per first segment of the path, because a router compares a path with each of its routes. Of several routes that match, the router
  // takes the one with the fewest parameters. So the handler of a path without parameters is found without a router.
  const routers = new Map<string, { router: Router; respond: ReturnType<Router['routes']> }>();
  const byFixedPath = new Map<string, (ctx: Koa.Context, params: RawParams) => Promise<void>>();
  for (const route of routes) {
    const { session, webhook } = credentialsOf(route);
    const endpoint: Endpoint = { route, source: webhook, errorStatuses: new Set(errorStatusesOf(route)), load: loadOf(route) };
    const deprecation = deprecationHeaders(route);
    const segment = firstSegment(route.path);
    const router = routers.get(segment)?.router ?? new Router({ sensitive: true, strict: true, exclusive: 'specificity' });
    routers.set(segment, { router, respond: router.routes() });
    const handle = async (ctx: Koa.Context, params: RawParams) => {
      ctx.state.route = route;
      // Webhook senders send no Origin header; their requests are signed instead. `requireBasic` has its own, stricter check.
      // An action may be called by pages of any origin, because it reads no credentials.
      if (webhook === null && route.auth !== 'basic' && !route.isAction) checkOrigin(app.config, ctx);
      if (deprecation) ctx.set(deprecation);
      if (session) await sessions(ctx, () => serve(app, endpoint, ctx, params));
      else await serve(app, endpoint, ctx, params);
    };
    router[route.method](route.path.replace(/\{(\w+)\}/g, ':$1'), (ctx) => handle(ctx, ctx.params));
    if (!route.path.includes('{')) byFixedPath.set(`${route.method.toUpperCase()} ${route.path}`, handle);
  }
  return async (ctx) => {
    // A path with NUL gets a 404 here: no resource has NUL in its name, and PostgreSQL rejects NUL in text.
    if (ctx.path.includes('%00')) throw fail(404, 'no such resource');
    const handle = byFixedPath.get(`${ctx.method} ${ctx.path}`);
    if (handle) return await handle(ctx, {});
    const found = routers.get(firstSegment(ctx.path));
    if (!found) throw fail(404, 'no such resource');
    const { router, respond } = found;
    await respond(Object.assign(ctx, { params: {}, router }), async () => respondWithMethods(router, ctx));
  };
}

/** Returns the headers of a deprecated route: the time since which it is deprecated (RFC 9745) and a link to the documentation; null for other routes. */
const deprecationHeaders = ({ deprecatedSince }: AnyRoute) =>
  deprecatedSince === undefined
    ? null
    : { Deprecation: `@${Date.parse(deprecatedSince) / 1_000}`, Link: '</docs>; rel="deprecation"; type="text/html"' };

const firstSegment = (path: string): string => {
  const end = path.indexOf('/', 1);
  return path.slice(1, end === -1 ? undefined : end);
};

/**
 * Responds to a request for which no route was found. OPTIONS gets the methods of the path.
 * @throws 405 when the path has routes for other methods, 404 when it has none
 */
function respondWithMethods(router: Router, ctx: Koa.Context): void {
  const known = METHODS.filter((method) => router.match(ctx.path, method).route);
  if (known.length === 0) throw fail(404, 'no such resource');
  const Allow = known.flatMap((m) => (m === 'GET' ? ['GET', 'HEAD'] : [m])).join(', ');
  if (ctx.method !== 'OPTIONS') throw fail(405, `the method must be ${known.join(' or ')}`, { Allow });
  ctx.set('Allow', Allow);
  ctx.status = 204;
}

const banned = () => fail(403, 'this wallet is banned: it may only read its own data, appeal, and delete its account');

function authenticate(app: App, route: AnyRoute, ctx: Koa.Context): Caller {
  const { auth } = route;
  if (auth === 'public') return { wallet: null, admin: null };
  // The session of a banned wallet counts only where a route allows it.
  if (auth === 'optional') return { wallet: route.forBanned || !isRestrictedSession(ctx) ? walletOf(ctx) : null, admin: null };
  if (auth === 'internal') return { wallet: null, admin: requireInternalToken(app, ctx) };
  if (auth === 'basic') return { wallet: null, admin: requireBasic(app, ctx).name };
  if (auth === 'session') {
    const wallet = walletOf(ctx);
    if (wallet === null) throw sessionRequired(ctx);
    if (!route.forBanned && isRestrictedSession(ctx)) throw banned();
    return { wallet, admin: null };
  }
  if ('admin' in auth) return { wallet: null, admin: requireAdminToken(app, ctx, auth.admin).name };
  if ('sessionOrAdmin' in auth) {
    const wallet = walletOf(ctx);
    if (ctx.get('Authorization') === '' || sessionTokenOf(ctx) !== null) {
      if (wallet === null) throw sessionRequired(ctx);
      if (isRestrictedSession(ctx)) throw banned();
      return { wallet, admin: null };
    }
    return { wallet, admin: requireAdminToken(app, ctx, auth.sessionOrAdmin).name };
  }
  auth.webhook satisfies WebhookSource;
  // A webhook request has no caller. `readDelivery` verifies its signature.
  return { wallet: null, admin: null };
}

type RawParams = Record<string, string | undefined>;

/** Authenticates a request, and serves it when the bounds of the requests in flight allow it. */
async function serve(app: App, endpoint: Endpoint, ctx: Koa.Context, rawParams: RawParams): Promise<void> {
  const { route, load } = endpoint;
  const caller = authenticate(app, route, ctx);
  if (load === 'none') return await respond(app, endpoint, ctx, rawParams, caller, null);
  const turn = await inFlightOf(app).enter(load, caller.admin === null ? caller.wallet : `token ${caller.admin}`);
  try {
    await respond(app, endpoint, ctx, rawParams, caller, turn);
  } finally {
    if (load === 'costly' && ctx.body instanceof Readable) turn.endAfter(ctx.res);
    else turn.end();
  }
}

/** Validates a request, runs its handler when its turn comes, and sets the response. */
async function respond(app: App, endpoint: Endpoint, ctx: Koa.Context, rawParams: RawParams, caller: Caller, turn: Turn | null): Promise<void> {
  const { route, source } = endpoint;
  const delivered = source === null ? null : await readDelivery(app, ctx.req, source);
  if (source !== null) await countDelivery(app, source);
  const params = decode('path', route.params, rawParams);
  const query = decode('query', route.query, route.query ? readQuery(ctx.querystring) : {});
  const { body, bytes } = await decodeBody(route, ctx, delivered);
  const wait = turn?.start(ctx.res) ?? null;
  if (wait !== null) await wait;
  if (caller.admin !== null && route.method !== 'get') {
    await recordAdminAction(app, { tokenName: caller.admin, method: ctx.method, path: ctx.url, body: bytes });
  }
  const key = route.idempotent ? checkIdempotencyKey(oneHeader(ctx, 'idempotency-key')) : null;
  const call: Call<AnyRoute['auth'], unknown, unknown, unknown> = {
    app,
    params,
    query,
    body,
    bytes,
    // The casts are safe because `authenticate` has enforced the auth mode that determines these types.
    wallet: caller.wallet as never,
    admin: caller.admin as never,
    delivery: (delivered?.delivery ?? null) as never,
    ctx,
    idempotencyKey: key,
    once: async (work) => {
      if (key === null) return await app.tx(work);
      const owner = caller.admin === null ? ['wallet', caller.wallet ?? ''] : ['admin', caller.admin];
      return (await runOnce(app, [...owner, route.method, ctx.path, key], [query, body], work)) as Awaited<ReturnType<typeof work>>;
    },
  };
  const result = delivered
    ? await storeOnce(app, delivered, (tx) => runHandler(app, endpoint, { ...call, once: (work) => work(tx) }))
    : await runHandler(app, endpoint, call);
  await write(app, route, ctx, result);
}

/** Runs the handler. When the handler throws an error, checks that the route declares the status of the error. */
async function runHandler(app: App, { route, errorStatuses }: Endpoint, call: Call<AnyRoute['auth'], unknown, unknown, unknown>): Promise<Reply> {
  try {
    return await route.handler(call);
  } catch (error) {
    if (error instanceof HttpError && !errorStatuses.has(error.status)) {
      contractViolation(app, `${route.method} ${route.path} threw ${error.status} (${error.message}), which the route does not declare`);
    }
    throw error;
  }
}

function oneHeader(ctx: Koa.Context, name: string): string | undefined {
  const value = ctx.headers[name];
  return Array.isArray(value) ? value.join() : value;
}

function decode(where: 'path' | 'query' | 'body', schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return {};
  const parsed = schema.safeParse(value, PARSING);
  if (!parsed.success) throw validationError(where, parsed.error);
  return parsed.data;
}

const NO_BYTES = Buffer.alloc(0);
const NO_FIELDS = z.strictObject({});

async function decodeBody(route: AnyRoute, ctx: Koa.Context, delivered: VerifiedDelivery | null): Promise<{ body: unknown; bytes: Buffer }> {
  const shape = route.body;
  if (delivered) return { body: shape && !isStream(shape) ? decode('body', shape, delivered.value) : undefined, bytes: delivered.bytes };
  if (shape && isStream(shape)) {
    if (shape.json && isJson(ctx.get('Content-Type'))) {
      const { value, bytes } = await readJson(ctx.req);
      return { body: decode('body', shape.json, value), bytes };
    }
    if (!ctx.is(shape.stream)) throw fail(415, `Content-Type must be ${shape.json ? 'application/json or ' : ''}${shape.stream}`);
    return { body: boundedStream(ctx.req, shape.maxBytes ?? MAX_JSON_BYTES), bytes: NO_BYTES };
  }
  if (route.method === 'get') return { body: undefined, bytes: NO_BYTES };
  if (!hasBody(ctx.req)) return { body: shape ? decode('body', shape, {}) : undefined, bytes: NO_BYTES };
  const { value, bytes } = await readJson(ctx.req);
  return { body: decode('body', shape ?? NO_FIELDS, value), bytes };
}

async function write(app: App, route: AnyRoute, ctx: Koa.Context, result: Reply): Promise<void> {
  const shape = route.returns[result.status];
  if (shape === undefined) contractViolation(app, `${route.method} ${route.path} returned ${result.status}, which the route does not declare`);
  ctx.status = result.status;
  if (result.headers) ctx.set(result.headers);
  const json = shape && isStream(shape) ? (isBytes(result.body) ? undefined : shape.json) : shape;
  if (shape === null || shape === undefined) {
    ctx.body = null;
    ctx.status = result.status;
  } else if (isStream(shape) && !json) {
    if (!shape.others) ctx.type = shape.stream;
    if (typeof result.body === 'function') {
      ctx.respond = false;
      ctx.res.statusCode = result.status;
      // A HEAD request gets only the headers; the function that writes the stream does not run.
      if (ctx.method === 'HEAD') ctx.res.end();
      else await result.body(ctx.res);
    } else {
      ctx.body = result.body;
      if (route.cache && result.status === 200 && typeof result.body === 'string') {
        applyETag(ctx, encodeBody(result.body).etag, result.headers?.['Cache-Control'] ?? route.cache);
      }
    }
  } else if (json) {
    const encode = (value: unknown) => encodeChecked(app, route, result.status, json, value);
    const text = textOf(app, json, result.body, encode);
    // The header is set without `ctx.type`, which would look up the MIME type for each response.
    ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8');
    ctx.body = text;
    if (route.cache && result.status === 200) {
      const { etag } = result.body instanceof CachedBody ? result.body.encode(json, encode) : encodeBody(text);
      applyETag(ctx, etag, result.headers?.['Cache-Control'] ?? route.cache);
    }
  }
}

/**
 * Returns the JSON of a response body.
 * @param encode validates a value by the schema and returns its JSON
 */
function textOf(app: App, shape: z.ZodType, body: unknown, encode: (value: unknown) => string): string {
  if (body instanceof CachedBody) return body.encode(shape, encode).text;
  if (body instanceof JsonText) return app.config.production ? body.text : encode(body.parse());
  return encode(body);
}

/** Validates a response value by its schema and returns its JSON. */
function encodeChecked(app: App, route: AnyRoute, status: number, shape: z.ZodType, value: unknown): string {
  const checked = shape.safeParse(value);
  if (!checked.success) contractViolation(app, `${route.method} ${route.path} ${status}: ${z.prettifyError(checked.error)}`);
  return JSON.stringify(checked.success ? checked.data : value);
}

/** Reports a response that the route does not declare. Outside production, throws an error, so that tests fail. In production, only logs an error. */
function contractViolation(app: App, violation: string): void {
  if (!app.config.production) throw new Error(violation);
  app.log.error({ violation }, 'a response does not match the declaration of its route; it is sent anyway');
}
