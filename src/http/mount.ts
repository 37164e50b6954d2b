import { PassThrough } from 'node:stream';
import findMyWay from 'find-my-way';
import type Koa from 'koa';
import { z } from 'zod';
import type { App } from '../context.ts';
import { fail } from '../lib/errors.ts';
import { auditAdmin, requireAdminToken, requireInternalToken } from './admin.ts';
import { hasBody, isJson, MAX_JSON_BYTES, parseJson, readBytes } from './body.ts';
import { conditional } from './cache.ts';
import { refuse } from './explain.ts';
import { idempotencyKey, once } from './idempotency.ts';
import { checkOrigin } from './origin.ts';
import { type AnyRoute, type Call, isStream, type Reply } from './route.ts';
import { type Sessions, walletOf } from './session.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

interface Caller {
  wallet: string | null;
  admin: string | null;
}

/** Routes requests to their values: find, check the origin, authenticate, decode, act, check the answer, write. */
export function mount(app: App, routes: readonly AnyRoute[], sessions: Sessions): Koa.Middleware {
  const router = findMyWay({ maxParamLength: 512, caseSensitive: true });
  const noop = () => undefined;
  for (const route of routes) {
    const method = METHODS.find((m) => m.toLowerCase() === route.method) ?? 'GET';
    router.on(method, route.path.replace(/\{(\w+)\}/g, ':$1'), noop, route);
  }
  return async (ctx) => {
    const method = ctx.method === 'HEAD' ? 'GET' : METHODS.find((m) => m === ctx.method);
    const found = method ? router.find(method, ctx.path) : null;
    if (!found) {
      const allowed = METHODS.filter((m) => router.find(m, ctx.path));
      if (allowed.length === 0) throw fail(404, 'no such resource');
      throw fail(405, `the method must be ${allowed.join(' or ')}`, { Allow: allowed.join(', ') });
    }
    const route: AnyRoute = found.store;
    ctx.state.route = route;
    if (typeof route.auth === 'string' || !('webhook' in route.auth)) checkOrigin(app.config, ctx);
    const readsSession = route.auth === 'session' || route.auth === 'optional' || (typeof route.auth === 'object' && 'sessionOrAdmin' in route.auth);
    const act = () => serve(app, route, ctx, found.params);
    await (readsSession ? sessions(ctx, act) : act());
  };
}

function authenticate(app: App, route: AnyRoute, ctx: Koa.Context): Caller {
  const { auth } = route;
  if (auth === 'public') return { wallet: null, admin: null };
  if (auth === 'optional') return { wallet: walletOf(ctx), admin: null };
  if (auth === 'internal') return { wallet: null, admin: requireInternalToken(app, ctx) };
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
  throw new Error('webhook routes have no door yet');
}

async function serve(app: App, route: AnyRoute, ctx: Koa.Context, rawParams: Record<string, string | undefined>): Promise<void> {
  const caller = authenticate(app, route, ctx);
  const params = decode('path', route.params, rawParams);
  const query = decode('query', route.query, route.query ? ctx.query : {});
  const { body, bytes } = await decodeBody(route, ctx);
  if (caller.admin !== null && route.method !== 'get') {
    await auditAdmin(app, { tokenName: caller.admin, method: ctx.method, path: ctx.path, body: bytes });
  }
  const key = route.idempotent ? idempotencyKey(ctx.get('Idempotency-Key')) : null;
  const scope = [caller.wallet ?? caller.admin ?? '', route.method, ctx.path, key ?? ''];
  const call: Call<AnyRoute['auth'], unknown, unknown, unknown> = {
    app,
    params,
    query,
    body,
    // The types that a handler sees follow from its auth mode, which `authenticate` has just enforced.
    wallet: caller.wallet as never,
    admin: caller.admin as never,
    ctx,
    idempotencyKey: key,
    once: async (work) => {
      if (key === null) return await app.tx(work);
      return (await once(app, scope, body, work)) as Awaited<ReturnType<typeof work>>;
    },
  };
  write(app, route, ctx, await route.handler(call));
}

function decode(where: 'path' | 'query' | 'body', schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return {};
  const parsed = schema.safeParse(value, { reportInput: true });
  if (!parsed.success) throw where === 'path' && z.object({}).safeParse(value).success ? refuse('path', parsed.error) : refuse(where, parsed.error);
  return parsed.data;
}

const NOTHING = Buffer.alloc(0);

async function decodeBody(route: AnyRoute, ctx: Koa.Context): Promise<{ body: unknown; bytes: Buffer }> {
  const shape = route.body;
  if (shape && isStream(shape)) {
    if (!ctx.is(shape.stream)) throw fail(415, `Content-Type must be ${shape.stream}`);
    return { body: ctx.req.pipe(new PassThrough()), bytes: NOTHING };
  }
  if (route.method === 'get') return { body: undefined, bytes: NOTHING };
  if (!hasBody(ctx.req)) return { body: shape ? decode('body', shape, {}) : undefined, bytes: NOTHING };
  if (!isJson(ctx.headers['content-type'])) throw fail(415, 'Content-Type must be application/json');
  const bytes = await readBytes(ctx.req, MAX_JSON_BYTES);
  const value = parseJson(bytes);
  return { body: decode('body', shape ?? z.strictObject({}), value), bytes };
}

function write(app: App, route: AnyRoute, ctx: Koa.Context, result: Reply): void {
  const shape = route.returns[result.status];
  if (shape === undefined) mismatch(app, `${route.method} ${route.path} answered ${result.status}, which it does not declare`);
  ctx.status = result.status;
  if (result.headers) ctx.set(result.headers);
  if (shape === null || shape === undefined) {
    ctx.body = null;
    ctx.status = result.status;
  } else if (isStream(shape)) {
    ctx.type = shape.stream;
    if (typeof result.body === 'function') {
      ctx.respond = false;
      ctx.res.statusCode = result.status;
      result.body(ctx.res);
    } else ctx.body = result.body;
  } else {
    const checked = shape.safeParse(result.body);
    if (!checked.success) mismatch(app, `${route.method} ${route.path} ${result.status}: ${z.prettifyError(checked.error)}`);
    const text = JSON.stringify(checked.success ? checked.data : result.body);
    ctx.type = 'application/json';
    ctx.body = text;
    if (route.cache && result.status === 200) conditional(ctx, text, route.cache);
  }
}

/** An answer that is not what the route declares is our fault: it fails tests, and is logged in production. */
function mismatch(app: App, what: string): void {
  if (!app.config.production) throw new Error(what);
  app.log.error({ what }, 'an answer does not match its declaration');
}
