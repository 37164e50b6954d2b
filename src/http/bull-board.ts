import type Koa from 'koa';
import type { AdminToken } from '../config.ts';
import type { App } from '../context.ts';
import { fail } from '../lib/errors.ts';
import { auditAdmin } from './admin.ts';
import { requireBasic } from './basic.ts';
import { hasBody, readJson } from './body.ts';
import { asRefusal } from './errors.ts';
import { pageHeaders } from './page.ts';

const PREFIX = '/admin/queues';
/** A job's data is an order to a worker: whoever writes it could make scores and payments. */
const WRITES_DATA = /\/(?:add|update-data|job-schedulers\/[^/]+)$/;
const READING = new Set(['GET', 'HEAD']);

/**
 * Bull Board, for operators: HTTP Basic with any user name and an admin token as the password. A browser sends that
 * by itself, so writes must come from our own pages. Each write is audited before it is carried out.
 */
export function bullBoard(app: App): Koa.Middleware {
  const secure = pageHeaders(app.config, { inlineStyles: true });
  let board: Promise<Koa.Middleware> | undefined;

  async function serve(ctx: Koa.Context): Promise<void> {
    await secure(ctx);
    const token = requireBasic(app, ctx);
    if (!READING.has(ctx.method)) await admit(app, ctx, token);
    if (ctx.path.startsWith(`${PREFIX}/static/`)) ctx.set('Cache-Control', 'private, max-age=86400');
    // Loaded for the first who asks: most processes never show it.
    board ??= openBoard(app).catch((error: unknown) => {
      board = undefined;
      throw error;
    });
    const show = await board;
    await show(ctx, () => Promise.reject(fail(404, 'no such resource')));
  }

  return (ctx, next) => {
    const { path } = ctx;
    const isOurs = path.startsWith(PREFIX) && (path.length === PREFIX.length || path[PREFIX.length] === '/');
    return isOurs ? serve(ctx) : next();
  };
}

/** Reads the body before the board does, to hash it. */
async function admit(app: App, ctx: Koa.Context, token: AdminToken): Promise<void> {
  if (WRITES_DATA.test(ctx.path) && !token.scopes.includes('money')) {
    throw fail(403, 'Authorization must be an admin token with the scope money to write the data of jobs');
  }
  const { value, bytes } = hasBody(ctx.req) ? await readJson(ctx.req) : { value: {}, bytes: Buffer.alloc(0) };
  Object.assign(ctx.request, { body: value });
  await auditAdmin(app, { tokenName: token.name, method: ctx.method, path: ctx.url, body: bytes });
}

async function openBoard(app: App): Promise<Koa.Middleware> {
  const [{ createBullBoard }, { BullMQAdapter }, { KoaAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/koa'),
  ]);
  const serverAdapter = new KoaAdapter().setBasePath(PREFIX);
  createBullBoard({
    queues: [...app.queues.all.values()].map((queue) => new BullMQAdapter(queue)),
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Coinop queues' } },
  });
  // Its own handler tells what went wrong inside.
  serverAdapter.setErrorHandler((error) => {
    const refusal = asRefusal(error);
    if (refusal.status >= 500) app.log.warn({ err: error }, 'bull board failed');
    return { status: refusal.status as 500, body: { error: refusal.message } };
  });
  return serverAdapter.registerPlugin();
}
