import { readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type Koa from 'koa';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';

/** What `packages/web/build.ts` writes to `manifest.json`. All paths are paths of URLs. */
const Manifest = z.object({
  script: z.string(),
  style: z.string(),
  icon: z.string(),
  font: z.string(),
  /** The picture of link previews, 1200 × 630 pixels. */
  card: z.string(),
  /** Scripts that `script` imports, so that the browser loads them at once. */
  imports: z.array(z.string()),
  /** The scripts of each page besides `script` and `imports`, by the source file of the page. */
  pages: z.record(z.string(), z.array(z.string())),
  /** Content type of each file. */
  files: z.record(z.string(), z.string()),
});
export type Manifest = z.infer<typeof Manifest>;

/** A file of the arcade page, with its compressed forms. */
interface BuiltFile {
  readonly type: string;
  readonly identity: Buffer;
  readonly gzip: Buffer;
  readonly br: Buffer;
}

/** The built arcade page: the manifest, and every file by its path. The files are about 1 MB together, so they stay in memory. */
export interface BuiltWeb {
  readonly manifest: Manifest;
  readonly files: ReadonlyMap<string, BuiltFile>;
}

/** Path under which the files are served. */
export const ASSETS = '/assets/';

const MANIFEST = 'manifest.json';
/** The name of each file contains a hash of its content, so a browser never needs to ask again. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/**
 * Reads the files that `packages/web/build.ts` wrote.
 * @returns null when the page is not built
 * @throws when the manifest is malformed or names a file that does not exist
 */
export function readBuiltWeb(folder: string): BuiltWeb | null {
  if (buildTime(folder) === null) return null;
  const manifest = Manifest.parse(JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')));
  const files = Object.entries(manifest.files).map(([path, type]): [string, BuiltFile] => {
    const read = (end: string) => readFileSync(join(folder, basename(path)) + end);
    return [path, { type, identity: read(''), gzip: read('.gz'), br: read('.br') }];
  });
  return { manifest, files: new Map(files) };
}

/** Returns the time of the last build, ms since 1970; null when the page is not built. */
export const buildTime = (folder: string): number | null => statSync(join(folder, MANIFEST), { throwIfNoEntry: false })?.mtimeMs ?? null;

/**
 * Sends a file of the arcade page.
 * @throws 404 when there is no such file, 405 for a method other than GET and HEAD
 */
export function sendAsset(ctx: Koa.Context, { files }: BuiltWeb): void {
  const file = files.get(ctx.path);
  if (!file) throw fail(404, 'no such resource');
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw fail(405, 'the method must be GET', { Allow: 'GET, HEAD' });
  const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity');
  const chosen = encoding === 'br' || encoding === 'gzip' ? encoding : 'identity';
  ctx.status = 200;
  ctx.set('Cache-Control', IMMUTABLE);
  ctx.vary('Accept-Encoding');
  if (chosen !== 'identity') ctx.set('Content-Encoding', chosen);
  ctx.type = file.type;
  ctx.body = file[chosen];
}
