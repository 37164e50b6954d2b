import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type Koa from 'koa';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { matchesETag } from '../conditional.ts';
import { pageHeaders } from '../page-headers.ts';
import type { AnyRoute } from '../route.ts';
import { openApi } from './document.ts';

const swagger = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/**
 * Returns the page of the documentation.
 * @param signIn whether the page has the bar with which a developer signs in
 */
const page = (signIn: boolean): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Coinop API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">${signIn ? '\n    <link rel="stylesheet" href="/docs/sign-in.css">' : ''}
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png" sizes="32x32">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>${signIn ? '\n    <script src="/docs/sign-in.js" type="module"></script>' : ''}
  </body>
</html>
`;

/** The bytes of a resource, plain and gzipped. */
interface EncodedFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly zipped: Buffer;
  readonly etag: string;
}

/** A file of the documentation pages. It is loaded when a client first requests it. */
interface Resource {
  readonly type: string;
  readonly isPage?: boolean;
  load(): Promise<string | Buffer>;
}

const asset = (name: string, type: string): Resource => ({ type, load: () => readFile(join(swagger, name)) });
const own = (name: string, type: string): Resource => ({ type, load: () => readFile(join(import.meta.dirname, 'page', name)) });

/**
 * Koa middleware: serves the OpenAPI document at `/openapi.json`, and Swagger UI with all of its files at `/docs`. Outside production the page can sign a
 * new wallet in.
 */
export function docs(app: App, routes: readonly AnyRoute[]): Koa.Middleware {
  const isDevelopment = !app.config.production;
  const html: Resource = { type: 'text/html', isPage: true, load: async () => page(isDevelopment) };
  const resources = new Map<string, Resource>([
    ['/openapi.json', { type: 'application/json', load: async () => JSON.stringify(openApi(app.config, routes)) }],
    ['/docs', html],
    ['/docs/', html],
    ['/docs/start.js', own('start.js', 'text/javascript')],
    ['/docs/swagger-ui.css', asset('swagger-ui.css', 'text/css')],
    ['/docs/swagger-ui-bundle.js', asset('swagger-ui-bundle.js', 'text/javascript')],
    ['/docs/favicon-32x32.png', asset('favicon-32x32.png', 'image/png')],
  ]);
  if (isDevelopment) {
    resources.set('/docs/sign-in.js', own('sign-in.js', 'text/javascript'));
    resources.set('/docs/sign-in.css', own('sign-in.css', 'text/css'));
  }
  const files = new Map<Resource, Promise<EncodedFile>>();
  const secure = pageHeaders(app.config, { inlineStyles: false });

  async function send(ctx: Koa.Context, resource: Resource): Promise<void> {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw fail(405, 'the method must be GET', { Allow: 'GET, HEAD' });
    let file = files.get(resource);
    if (!file) {
      file = prepare(resource);
      file.catch(() => files.delete(resource));
      files.set(resource, file);
    }
    const { type, plain, zipped, etag } = await file;
    if (resource.isPage) await secure(ctx);
    ctx.status = 200;
    ctx.set('Cache-Control', 'no-cache');
    ctx.vary('Accept-Encoding');
    ctx.set('ETag', etag);
    ctx.type = type;
    if (matchesETag(ctx, etag)) ctx.status = 304;
    else if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
      ctx.set('Content-Encoding', 'gzip');
      ctx.body = zipped;
    } else ctx.body = plain;
  }

  return (ctx, next) => {
    const resource = resources.get(ctx.path);
    return resource ? send(ctx, resource) : next();
  };
}

async function prepare(resource: Resource): Promise<EncodedFile> {
  const plain = Buffer.from(await resource.load());
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
  // The ETag is weak, because the plain and the gzipped bytes share it.
  return { type: resource.type, plain, zipped: await promisify(gzip)(plain), etag: `W/"${hash}"` };
}
