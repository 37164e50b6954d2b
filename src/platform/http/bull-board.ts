import type Koa from 'koa';
import type { AdminToken } from '#config';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { auditAdmin } from '#platform/auth/admin-tokens.ts';
import { requireBasic } from '#platform/auth/basic-auth.ts';
import { hasBody, readJson } from './body.ts';
import { asRefusal } from './errors.ts';
import { pageHeaders } from './page-headers.ts';

const PREFIX = '/admin/queues';
const READING = new Set(['GET', 'HEAD']);
/** What the page would load from elsewhere: its fonts, which the policy forbids. */
const FOREIGN = /<link [^>]*href="https?:[^>]*>/g;

/**
 * Bull Board, for operators: HTTP Basic with any user name and an admin token as the password. A browser sends that
 * by itself, so writes must come from our own pages. Each write is audited before it is carried out. Jobs make scores
 * and payments: whose token lacks the scope money sees the board, and changes nothing.
 */
export function bullBoard(app: App): Koa.Middleware {
  const secure = pageHeaders(app.config, { inlineStyles: true });
  let boards: Promise<Boards> | undefined;

  async function serve(ctx: Koa.Context): Promise<void> {
    await secure(ctx);
    const token = requireBasic(app, ctx);
    const mayWrite = token.scopes.includes('money');
    if (!READING.has(ctx.method)) await admit(app, ctx, token, mayWrite);
    if (ctx.path.startsWith(`${PREFIX}/static/`)) ctx.set('Cache-Control', 'private, max-age=86400');
    // Loaded for the first who asks: most processes never show it.
    boards ??= openBoards(app).catch((error: unknown) => {
      boards = undefined;
      throw error;
    });
    const { writing, reading } = await boards;
    await (mayWrite ? writing : reading)(ctx, () => Promise.reject(fail(404, 'no such resource')));
    if (typeof ctx.body === 'string' && ctx.type === 'text/html') ctx.body = ctx.body.replace(FOREIGN, '');
  }

  return (ctx, next) => {
    const { path } = ctx;
    const isOurs = path.startsWith(PREFIX) && (path.length === PREFIX.length || path[PREFIX.length] === '/');
    return isOurs ? serve(ctx) : next();
  };
}

/** Reads the body before the board does, to hash it. */
async function admit(app: App, ctx: Koa.Context, token: AdminToken, mayWrite: boolean): Promise<void> {
  if (!mayWrite) throw fail(403, 'Authorization must be an admin token with the scope money to change queues or jobs');
  const { value, bytes } = hasBody(ctx.req) ? await readJson(ctx.req) : { value: {}, bytes: Buffer.alloc(0) };
  Object.assign(ctx.request, { body: value });
  await auditAdmin(app, { tokenName: token.name, method: ctx.method, path: ctx.url, body: bytes });
}

/** The board, and the same without anything to press. */
interface Boards {
  readonly writing: Koa.Middleware;
  readonly reading: Koa.Middleware;
}

async function openBoards(app: App): Promise<Boards> {
  const [{ createBullBoard }, { BullMQAdapter }, { KoaAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/koa'),
  ]);
  const open = (readOnlyMode: boolean): Koa.Middleware => {
    const serverAdapter = new KoaAdapter().setBasePath(PREFIX);
    createBullBoard({
      queues: [...app.queues.all.values()].map((queue) => new BullMQAdapter(queue, { readOnlyMode })),
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
  };
  return { writing: open(false), reading: open(true) };
}
