import type Koa from 'koa';
import type { Config } from '#config';
import type { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { pageOnlyHeaders } from '../page-headers.ts';
import { type AnyRoute, isStream, type Reply, reply, stream } from '../route.ts';
import { html } from './html.ts';
import { type Page, renderPage, STYLES } from './layout.ts';

/** Declares a response that is a page for people. */
export const PAGE = stream('text/html');

const headers = perApp((app) => pageOnlyHeaders(app.config, STYLES));

/** Creates the reply with a page. Sets the security headers of the page. */
export async function replyPage<const Status extends number>(
  app: App,
  ctx: Koa.Context,
  status: Status,
  page: Omit<Page, 'frontendUrl'>,
  replyHeaders: Record<string, string> = {},
): Promise<Reply<Status, string>> {
  await app.state(headers)(ctx);
  return reply(status, renderPage({ ...page, frontendUrl: app.config.frontendUrl }), replyHeaders);
}

/**
 * Returns whether a client asks for HTML rather than JSON, by its `Accept` header. A client that accepts both equally (no header, or a wildcard) gets
 * JSON. Sets `Vary`, so that caches keep both.
 */
export function asksForPage(ctx: Koa.Context): boolean {
  ctx.vary('Accept');
  return ctx.accepts('application/json', 'text/html') === 'text/html';
}

/** Returns whether a route answers with a page. */
function hasPage(route: AnyRoute | undefined): boolean {
  const shape = route?.returns[200];
  return shape !== undefined && shape !== null && isStream(shape) && shape.stream === PAGE.stream;
}

/**
 * Sends an error as a page to a client that asks for HTML from a route that answers with pages, or from a page of the arcade (`ctx.state.page`).
 * @returns false when the client gets the error as JSON
 */
export async function sendErrorPage(app: App, ctx: Koa.Context, route: AnyRoute | undefined, error: HttpError): Promise<boolean> {
  if ((!hasPage(route) && ctx.state.page === undefined) || !asksForPage(ctx)) return false;
  const title = error.status >= 500 ? 'This page cannot be shown' : error.status === 404 ? 'This page does not exist' : 'This did not work';
  const description = `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`;
  const body = html`<h1>${title}</h1>
<p>${description}</p>`;
  const page = await replyPage(app, ctx, error.status, { title, description, body });
  ctx.type = PAGE.stream;
  ctx.body = page.body;
  return true;
}

/**
 * Returns the URL of a page to which links for people lead: a page of the front end, or the page of this service when no front end is configured. Both
 * have the same paths.
 * @param path path and query, beginning with a slash
 */
export const pageUrl = ({ frontendUrl, publicUrl }: Pick<Config, 'frontendUrl' | 'publicUrl'>, path: string): string =>
  `${(frontendUrl ?? publicUrl).href.replace(/\/$/, '')}${path}`;
