import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type Koa from 'koa';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { placeholder, prepared } from '#platform/db/query-builder.ts';
import { matchesETag } from '#platform/http/conditional.ts';
import { requestedRange } from '#platform/http/range.ts';
import { reply, type StreamBody } from '#platform/http/route.ts';
import { build, type Clip, clipColumns } from './rows.ts';

// Named, because a client reads the clip for each range of its file.
const selectClip = prepared(
  'select_clip',
  build
    .selectFrom('clips')
    .select([...clipColumns, 'sha256'])
    .where('id', '=', placeholder<string>(1))
    .where('state', '=', 'ready')
    .where('hidden', '=', false),
);

/**
 * Reads a visible clip.
 * @throws 404 when the clip does not exist or was removed
 */
export async function readClip(app: App, id: string): Promise<Clip & { sha256: Buffer }> {
  const [clip] = await app.db.query(selectClip, [id]);
  if (!clip) throw fail(404, 'no such clip');
  return clip;
}

/** Cache-Control of a clip's file. The file never changes. The maximum age is only one day, so that caches do not serve a removed file for longer. */
const CACHE_CONTROL = 'public, max-age=86400, immutable';
/** Maximum time in which a client reads nothing before the service aborts its download, ms. The client can continue with a Range request. */
const READ_TIMEOUT_MS = 120_000;
/** Cache-Control of a redirect to the origin of media files. */
const REDIRECT_CACHE_CONTROL = 'public, max-age=300';
/** Forbids scripts and other active content, because users upload the files and browsers load them from the service's own origin. */
const CONTENT_SECURITY_POLICY = `default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'; sandbox`;

/** Returns the URL of a clip's file, on the origin of media files. */
export const mediaUrlOf = ({ config }: Pick<App, 'config'>, id: string): string => {
  const base = config.mediaUrl ?? config.publicUrl;
  return `${base.href.replace(/\/$/, '')}/clips/${id}/media`;
};

/**
 * Sends the file of a clip, or the range of the file that the request names. With `MEDIA_URL`, a request to any other host is redirected there.
 * @throws 404 when the clip does not exist; 416 for a range outside the file; 503 when the storage fails
 */
export async function sendMedia(app: App, ctx: Koa.Context, id: string) {
  const clip = await readClip(app, id);
  if (app.config.mediaUrl !== null && ctx.host !== app.config.mediaUrl.host) {
    return reply(307, null, { Location: mediaUrlOf(app, id), 'Cache-Control': REDIRECT_CACHE_CONTROL });
  }
  const etag = `"${clip.sha256.toString('base64url').slice(0, 22)}"`;
  const headers = {
    ETag: etag,
    'Cache-Control': CACHE_CONTROL,
    'Accept-Ranges': 'bytes',
    'Content-Type': clip.type,
    'Content-Disposition': `inline; filename="clip-${id}.${clip.type.slice(clip.type.indexOf('/') + 1)}"`,
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    // Allows front ends on other origins to display clips.
    'Cross-Origin-Resource-Policy': 'cross-origin',
  };
  if (matchesETag(ctx, etag)) return reply(304, null, { ETag: etag, 'Cache-Control': CACHE_CONTROL });
  const range = requestedRange(ctx, etag, clip.bytes);
  if (range === 'none') throw fail(416, `Range must lie within the ${clip.bytes} bytes of the file`, { 'Content-Range': `bytes */${clip.bytes}` });
  if (range === 'all') {
    const body = await openMedia(app, ctx, id, { start: 0, end: clip.bytes - 1 });
    return reply(200, body, { ...headers, 'Content-Length': String(clip.bytes) });
  }
  const part = { 'Content-Length': String(range.end - range.start + 1), 'Content-Range': `bytes ${range.start}-${range.end}/${clip.bytes}` };
  return reply(206, await openMedia(app, ctx, id, range), { ...headers, ...part });
}

/**
 * Opens a range of a clip's file. The returned function streams the range with backpressure, and closes both the file and the response when one of
 * them ends.
 */
async function openMedia(app: App, ctx: Koa.Context, id: string, range: { start: number; end: number }): Promise<StreamBody> {
  if (ctx.method === 'HEAD') return () => undefined;
  const source = await app.storage.open(id, range);
  return (response: ServerResponse) => {
    // Closes the file if the client disconnected while the file was being opened.
    if (response.destroyed) return void source.destroy();
    response.setTimeout(READ_TIMEOUT_MS, () => response.destroy());
    pipeline(source, response, (error) => {
      // Logs no disconnect of the client, because a disconnect is normal.
      if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE')
        app.log.warn({ err: error, clip: id }, 'a clip could not be read to its end; the response was aborted');
    });
  };
}
