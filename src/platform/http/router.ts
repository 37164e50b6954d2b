import findMyWay from 'find-my-way';
import type Koa from 'koa';
import { z } from 'zod';
import type { WebhookSource } from '#config';
import { fail, HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { auditAdmin, requireAdminToken, requireInternalToken } from '#platform/auth/admin-tokens.ts';
import { requireBasic } from '#platform/auth/basic-auth.ts';
import { checkOrigin } from '#platform/auth/origin.ts';
import { type Sessions, walletOf } from '#platform/auth/sessions.ts';
import { countDelivery, type Delivered, readDelivery, storeOnce } from '#platform/webhooks/receive.ts';
import { boundedStream, hasBody, isJson, MAX_JSON_BYTES, readJson } from './body.ts';
import { encoded, SharedBody } from './cached-body.ts';
import { conditional } from './conditional.ts';
import { idempotencyKey, once } from './idempotency.ts';
import { readQuery } from './query.ts';
import { type AnyRoute, type Call, isBytes, isStream, type Reply, reads, refusalsOf } from './route.ts';
import { explain, refuse } from './validation-errors.ts';

const PARSING = { error: explain };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

interface Caller {
  wallet: string | null;
  admin: string | null;
}

/** A route, and what follows from it for every request. */
interface Endpoint {
  readonly route: AnyRoute;
  readonly readsSession: boolean;
  /** Whose webhook it is, if it is one. */
  readonly source: WebhookSource | null;
  readonly refusals: ReadonlySet<number>;
}

/** Routes requests to their values: find, check the origin, authenticate, decode, act, check the answer, write. */
export function createRouter(app: App, routes: readonly AnyRoute[], sessions: Sessions): Koa.Middleware {
  const router = findMyWay({ maxParamLength: 512, caseSensitive: true });
  const noop = () => undefined;
  for (const route of routes) {
    const method = METHODS.find((m) => m.toLowerCase() === route.method) ?? 'GET';
    const { session, webhook } = reads(route);
    const endpoint: Endpoint = { route, readsSession: session, source: webhook, refusals: new Set(refusalsOf(route)) };
    router.on(method, route.path.replace(/\{(\w+)\}/g, ':$1'), noop, endpoint);
  }
  return async (ctx) => {
    // Nothing that is stored has such a name, and PostgreSQL takes no NUL for text.
    if (ctx.path.includes('%00')) throw fail(404, 'no such resource');
    const method = ctx.method === 'HEAD' ? 'GET' : METHODS.find((m) => m === ctx.method);
    const found = method ? router.find(method, ctx.path) : null;
    if (!found) return answerWithMethods(router, ctx);
    const endpoint: Endpoint = found.store;
    ctx.state.route = endpoint.route;
    // Webhooks come without; HTTP Basic asks for our own pages.
    if (endpoint.source === null && endpoint.route.auth !== 'basic') checkOrigin(app.config, ctx);
    if (endpoint.readsSession) await sessions(ctx, () => serve(app, endpoint, ctx, found.params));
    else await serve(app, endpoint, ctx, found.params);
  };
}

/** OPTIONS tells what a path knows; any other method that it does not know is 405. */
function answerWithMethods(router: findMyWay.Instance<findMyWay.HTTPVersion.V1>, ctx: Koa.Context): void {
  const known = METHODS.filter((m) => router.find(m, ctx.path));
  if (known.length === 0) throw fail(404, 'no such resource');
  const Allow = known.flatMap((m) => (m === 'GET' ? ['GET', 'HEAD'] : [m])).join(', ');
  if (ctx.method !== 'OPTIONS') throw fail(405, `the method must be ${known.join(' or ')}`, { Allow });
  ctx.set('Allow', Allow);
  ctx.status = 204;
}

function authenticate(app: App, route: AnyRoute, ctx: Koa.Context): Caller {
  const { auth } = route;
  if (auth === 'public') return { wallet: null, admin: null };
  if (auth === 'optional') return { wallet: walletOf(ctx), admin: null };
  if (auth === 'internal') return { wallet: null, admin: requireInternalToken(app, ctx) };
  if (auth === 'basic') return { wallet: null, admin: requireBasic(app, ctx).name };
  if (auth === 'session') {
    const wallet = walletOf(ctx);
    if (wallet === null) throw fail(401, 'a session is required, sign in first');
    return { wallet, admin: null };
  }
  if ('admin' in auth) return { wallet: null, admin: requireAdminToken(app, ctx, auth.admin).name };
  if ('sessionOrAdmin' in auth) {
    const wallet = walletOf(ctx);
    if (wallet !== null && ctx.get('Authorization') === '') return { wallet, admin: null };
    if (ctx.get('Authorization') === '') throw fail(401, 'a session is required, sign in first');
    return { wallet, admin: requireAdminToken(app, ctx, auth.sessionOrAdmin).name };
  }
  auth.webhook satisfies WebhookSource;
  // Not by who sends it: `readDelivery` asks for the signature of what is sent.
  return { wallet: null, admin: null };
}

async function serve(app: App, endpoint: Endpoint, ctx: Koa.Context, rawParams: Record<string, string | undefined>): Promise<void> {
  const { route, source } = endpoint;
  const caller = authenticate(app, route, ctx);
  const delivered = source === null ? null : await readDelivery(app, ctx.req, source);
  if (source !== null) await countDelivery(app, source);
  const params = decode('path', route.params, rawParams);
  const query = decode('query', route.query, route.query ? readQuery(ctx.querystring) : {});
  const { body, bytes } = await decodeBody(route, ctx, delivered);
  if (caller.admin !== null && route.method !== 'get') {
    await auditAdmin(app, { tokenName: caller.admin, method: ctx.method, path: ctx.url, body: bytes });
  }
  const key = route.idempotent ? idempotencyKey(oneHeader(ctx, 'idempotency-key')) : null;
  const call: Call<AnyRoute['auth'], unknown, unknown, unknown> = {
    app,
    params,
    query,
    body,
    // The types that a handler sees follow from its auth mode, which `authenticate` has just enforced.
    wallet: caller.wallet as never,
    admin: caller.admin as never,
    delivery: (delivered?.delivery ?? null) as never,
    ctx,
    idempotencyKey: key,
    once: async (work) => {
      if (key === null) return await app.tx(work);
      const owner = caller.admin === null ? ['wallet', caller.wallet ?? ''] : ['admin', caller.admin];
      return (await once(app, [...owner, route.method, ctx.path, key], [query, body], work)) as Awaited<ReturnType<typeof work>>;
    },
  };
  const result = delivered
    ? await storeOnce(app, delivered, (tx) => act(app, endpoint, { ...call, once: (work) => work(tx) }))
    : await act(app, endpoint, call);
  await write(app, route, ctx, result);
}

/** Runs the handler; a refusal that its route does not declare is a fault of ours. */
async function act(app: App, { route, refusals }: Endpoint, call: Call<AnyRoute['auth'], unknown, unknown, unknown>): Promise<Reply> {
  try {
    return await route.handler(call);
  } catch (error) {
    if (error instanceof HttpError && !refusals.has(error.status)) {
      mismatch(app, `${route.method} ${route.path} refused with ${error.status} (${error.message}), which it does not declare`);
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
  if (!parsed.success) throw refuse(where, parsed.error);
  return parsed.data;
}

const NOTHING = Buffer.alloc(0);
const NO_FIELDS = z.strictObject({});

async function decodeBody(route: AnyRoute, ctx: Koa.Context, delivered: Delivered | null): Promise<{ body: unknown; bytes: Buffer }> {
  const shape = route.body;
  if (delivered) return { body: shape && !isStream(shape) ? decode('body', shape, delivered.value) : undefined, bytes: delivered.bytes };
  if (shape && isStream(shape)) {
    if (shape.json && isJson(ctx.get('Content-Type'))) {
      const { value, bytes } = await readJson(ctx.req);
      return { body: decode('body', shape.json, value), bytes };
    }
    if (!ctx.is(shape.stream)) throw fail(415, `Content-Type must be ${shape.json ? 'application/json or ' : ''}${shape.stream}`);
    return { body: boundedStream(ctx.req, shape.maxBytes ?? MAX_JSON_BYTES), bytes: NOTHING };
  }
  if (route.method === 'get') return { body: undefined, bytes: NOTHING };
  if (!hasBody(ctx.req)) return { body: shape ? decode('body', shape, {}) : undefined, bytes: NOTHING };
  const { value, bytes } = await readJson(ctx.req);
  return { body: decode('body', shape ?? NO_FIELDS, value), bytes };
}

async function write(app: App, route: AnyRoute, ctx: Koa.Context, result: Reply): Promise<void> {
  const shape = route.returns[result.status];
  if (shape === undefined) mismatch(app, `${route.method} ${route.path} answered ${result.status}, which it does not declare`);
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
      // HEAD wants to know what GET would begin with, not to wait for what it brings.
      if (ctx.method === 'HEAD') ctx.res.end();
      else await result.body(ctx.res);
    } else ctx.body = result.body;
  } else if (json) {
    const encode = (value: unknown) => checkedText(app, route, result.status, json, value);
    const text = result.body instanceof SharedBody ? result.body.encode(json, encode).text : encode(result.body);
    // Koa would look the type up for every answer.
    ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8');
    ctx.body = text;
    if (route.cache && result.status === 200) {
      const { etag } = result.body instanceof SharedBody ? result.body.encode(json, encode) : encoded(text);
      conditional(ctx, etag, result.headers?.['Cache-Control'] ?? route.cache);
    }
  }
}

/** A value as its shape writes it. */
function checkedText(app: App, route: AnyRoute, status: number, shape: z.ZodType, value: unknown): string {
  const checked = shape.safeParse(value);
  if (!checked.success) mismatch(app, `${route.method} ${route.path} ${status}: ${z.prettifyError(checked.error)}`);
  return JSON.stringify(checked.success ? checked.data : value);
}

/** An answer that is not what the route declares is our fault: it fails tests, and is logged in production. */
function mismatch(app: App, what: string): void {
  if (!app.config.production) throw new Error(what);
  app.log.error({ what }, 'an answer does not match its declaration');
}
