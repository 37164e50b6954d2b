import type Koa from 'koa';
import type { AdminToken } from '#config';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { recordAdminAction } from '#platform/auth/admin-tokens.ts';
import { requireBasic } from '#platform/auth/basic-auth.ts';
import type { DescribedJob } from '#platform/jobs/description.ts';
import { describeJobs, withoutDescription, withoutPayloads } from './board-jobs.ts';
import { hasBody, readJson } from './body.ts';
import { toHttpError } from './errors.ts';
import { pageHeaders } from './page-headers.ts';
import type { AnyRoute } from './route.ts';

const PREFIX = '/admin/queues';
const READ_METHODS = new Set(['GET', 'HEAD']);
/** Scopes whose tokens see the payloads of jobs: wallets, scores and payments. */
const PAYLOAD_SCOPES = ['money', 'rounds', 'moderation'] as const;
/** Matches the paths of the API of the board. Its router ignores the case of paths. */
const API = /^\/admin\/queues\/api\//i;
/** Matches the paths of job logs, which have no fields that can be left out. */
const JOB_LOGS = /\/logs$/i;
/** Matches links of a Bull Board page to other origins (fonts). The content security policy blocks these links, so the middleware removes them. */
const EXTERNAL_LINK = /<link [^>]*href="https?:[^>]*>/g;

/**
 * Koa middleware: serves Bull Board, the pages that show queues and jobs to operators. The password of HTTP Basic is an admin token. Browsers send
 * these credentials automatically, so a write request must come from a page of this service. Each write request is added to the audit log before it
 * runs. Jobs create scores and payments, so a token without the scope money gets a read-only board, and a token with the scope content alone sees no
 * payloads.
 * @param descriptions descriptions of the jobs that have a subject
 * @param routes routes to which the descriptions lead
 */
export function bullBoard(app: App, descriptions: readonly DescribedJob[], routes: readonly AnyRoute[]): Koa.Middleware {
  const secure = pageHeaders(app.config, { inlineStyles: true });
  let boards: Promise<Boards> | undefined;

  async function serve(ctx: Koa.Context): Promise<void> {
    await secure(ctx);
    const token = requireBasic(app, ctx);
    const mayWrite = token.scopes.includes('money');
    if (!READ_METHODS.has(ctx.method)) await auditWrite(app, ctx, token, mayWrite);
    if (ctx.path.startsWith(`${PREFIX}/static/`)) ctx.set('Cache-Control', 'private, max-age=86400');
    // The boards are loaded at the first request, because most processes never serve them.
    boards ??= openBoards(app).catch((error: unknown) => {
      boards = undefined;
      throw error;
    });
    const { readWrite, readOnly } = await boards;
    const seesPayloads = PAYLOAD_SCOPES.some((scope) => token.scopes.includes(scope));
    if (!seesPayloads && JOB_LOGS.test(ctx.path))
      throw fail(403, 'Authorization must be an admin token with a scope other than content to read the logs of jobs');
    await (mayWrite ? readWrite : readOnly)(ctx, () => Promise.reject(fail(404, 'no such resource')));
    if (API.test(ctx.path)) ctx.body = seesPayloads ? await describeJobs(app.db, descriptions, routes, ctx.body) : withoutPayloads(ctx.body);
    if (typeof ctx.body === 'string' && ctx.type === 'text/html') ctx.body = ctx.body.replace(EXTERNAL_LINK, '');
  }

  return (ctx, next) => {
    const { path } = ctx;
    const isOurs = path.startsWith(PREFIX) && (path.length === PREFIX.length || path[PREFIX.length] === '/');
    return isOurs ? serve(ctx) : next();
  };
}

/**
 * Prepares a write request for the board: checks the scope, parses the body into `ctx.request.body`, where the board reads it, and adds the request
 * to the audit log.
 * @throws 403 when the token lacks the scope money
 */
async function auditWrite(app: App, ctx: Koa.Context, token: AdminToken, mayWrite: boolean): Promise<void> {
  if (!mayWrite) throw fail(403, 'Authorization must be an admin token with the scope money to change queues or jobs');
  const { value, bytes } = hasBody(ctx.req) ? await readJson(ctx.req) : { value: {}, bytes: Buffer.alloc(0) };
  Object.assign(ctx.request, { body: withoutDescription(value) });
  await recordAdminAction(app, { tokenName: token.name, method: ctx.method, path: ctx.url, body: bytes });
}

/** Two versions of the board: one for tokens with the scope money, and a read-only one for other tokens. */
interface Boards {
  readonly readWrite: Koa.Middleware;
  readonly readOnly: Koa.Middleware;
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
    // Replaces the error handler of Bull Board, which would send internal error messages to the client.
    serverAdapter.setErrorHandler((error) => {
      // The file server of the board refuses a path that leaves its folder.
      const httpError = isRefusedPath(error) ? fail(404, 'no such resource') : toHttpError(error);
      if (httpError.status >= 500) app.log.warn({ err: error }, 'a request to Bull Board failed; it is answered with an error');
      return { status: httpError.status as 500, body: { error: httpError.message } };
    });
    return serverAdapter.registerPlugin();
  };
  return { readWrite: open(false), readOnly: open(true) };
}

const isRefusedPath = (error: unknown): boolean => Error.isError(error) && 'status' in error && (error.status === 400 || error.status === 403);
