import { join } from 'node:path';
import type Koa from 'koa';
import { matchPath } from '#lib/path-pattern.ts';
import type { App } from '#platform/app.ts';
import { encodeBody } from '#platform/http/cached-body.ts';
import { applyETag } from '#platform/http/conditional.ts';
import { type WebPolicy, webHeaders } from '#platform/http/page-headers.ts';
import { ASSETS, type BuiltWeb, buildTime, readBuiltWeb, sendAsset } from '#platform/http/pages/built-web.ts';
import { sharedPages } from './heads.ts';
import { type Head, plainPages, type WebPage } from './pages.ts';
import { webSettings } from './settings.ts';
import { renderShell } from './shell.ts';

/** The folder into which `packages/web/build.ts` writes. */
const BUILT = join(import.meta.dirname, '../../../packages/web/dist');

const pages: readonly WebPage[] = [...sharedPages, ...plainPages];

/**
 * Koa middleware: serves the arcade page and its files. Does nothing when the page is off or not built. All pages are the same HTML except their head and
 * their security headers; the script in the browser shows the page that the URL names.
 */
export function web(app: App): Koa.Middleware {
  const read = app.config.web ? builtWeb(app) : () => null;
  const headers: Readonly<Record<WebPolicy, (ctx: Koa.Context) => Promise<void>>> = {
    plain: webHeaders(app.config, 'plain'),
    play: webHeaders(app.config, 'play'),
    check: webHeaders(app.config, 'check'),
  };
  return async (ctx, next) => {
    const found = ctx.method === 'GET' || ctx.method === 'HEAD' ? find(ctx.path) : null;
    const isAsset = ctx.path.startsWith(ASSETS);
    const built = found || isAsset ? read() : null;
    if (built === null) return next();
    if (!found) return sendAsset(ctx, built);
    const { page, params } = found;
    // An error of the head is shown as a page, and metrics count the page by its path.
    ctx.state.page = page.path;
    const [head, settings] = await Promise.all([page.head(app, params), webSettings(app)]);
    await headers[page.policy](ctx);
    const { text, etag } = encodeBody(renderShell(built.manifest, page.source, withPicture(app, built, head), settings));
    ctx.status = 200;
    ctx.type = 'text/html';
    ctx.body = text;
    applyETag(ctx, etag, 'no-cache');
  };
}

/** Returns the page of a path, and its parameters as they stand in the path; null when no page has this path. */
function find(path: string): { page: WebPage; params: Readonly<Record<string, string>> } | null {
  for (const page of pages) {
    const params = matchPath(page.path, path);
    if (params) return { page, params };
  }
  return null;
}

/** Returns a function that returns the built page. In development it reads a newer build, so that a build needs no restart. */
function builtWeb(app: App): () => BuiltWeb | null {
  let built = readBuiltWeb(BUILT);
  let time = buildTime(BUILT);
  if (built === null) app.log.warn('the arcade page is not built, so it is not served: run node packages/web/build.ts, or set WEB=off');
  return () => {
    if (!app.config.production) {
      const newest = buildTime(BUILT);
      if (newest !== time) [built, time] = [readBuiltWeb(BUILT), newest];
    }
    return built;
  };
}

/** Gives a page that people share, and that has no picture of its own, the picture of the arcade. */
function withPicture({ config }: App, { manifest }: BuiltWeb, head: Head): Head {
  if (!head.shared || head.shared.image) return head;
  const url = new URL(manifest.card, config.publicUrl).href;
  return { ...head, shared: { ...head.shared, image: { url, type: 'image/png', width: 1_200, height: 630, alt: 'Coinop, an arcade on Solana' } } };
}
