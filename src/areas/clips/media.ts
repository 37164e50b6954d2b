import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type Koa from 'koa';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { hasVersion } from '#platform/http/conditional.ts';
import { rangeOf } from '#platform/http/range.ts';
import { reply, type StreamBody } from '#platform/http/route.ts';
import { CLIP_COLUMNS, type Clip } from './rows.ts';

const selectClip = statement<Clip & { sha256: Buffer }>(
  'select_clip',
  `select ${CLIP_COLUMNS}, sha256 from clips where id = $1 and state = 'ready' and not hidden`,
);

/** One clip. @throws 404 where there is none, or none any more */
export async function readClip(app: App, id: string): Promise<Clip & { sha256: Buffer }> {
  const [clip] = await app.db.query(selectClip, [id]);
  if (!clip) throw fail(404, 'no such clip');
  return clip;
}

/** A file never changes; one that a moderator removes is out of caches after a day. */
const KEPT = 'public, max-age=86400, immutable';
/** A reader that takes nothing for so long has gone, or comes back with a Range, ms. */
const UNREAD_MS = 120_000;
/** What strangers uploaded lies on our origin: whatever a browser takes it for, it may do nothing. */
const POLICY = `default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'; sandbox`;

/** Answers with the file of a clip, or the part of it that is asked for. @throws 404, 416, 503 */
export async function sendMedia(app: App, ctx: Koa.Context, id: string) {
  const clip = await readClip(app, id);
  const etag = `"${clip.sha256.toString('base64url').slice(0, 22)}"`;
  const headers = {
    ETag: etag,
    'Cache-Control': KEPT,
    'Accept-Ranges': 'bytes',
    'Content-Type': clip.type,
    'Content-Disposition': `inline; filename="clip-${id}.${clip.type.slice(clip.type.indexOf('/') + 1)}"`,
    'Content-Security-Policy': POLICY,
    // Front ends on other origins show it.
    'Cross-Origin-Resource-Policy': 'cross-origin',
  };
  if (hasVersion(ctx, etag)) return reply(304, null, { ETag: etag, 'Cache-Control': KEPT });
  const range = rangeOf(ctx, etag, clip.bytes);
  if (range === 'none') throw fail(416, `Range must lie within the ${clip.bytes} bytes of the file`, { 'Content-Range': `bytes */${clip.bytes}` });
  if (range === 'all') {
    const body = await open(app, ctx, id, { start: 0, end: clip.bytes - 1 });
    return reply(200, body, { ...headers, 'Content-Length': String(clip.bytes) });
  }
  const part = { 'Content-Length': String(range.end - range.start + 1), 'Content-Range': `bytes ${range.start}-${range.end}/${clip.bytes}` };
  return reply(206, await open(app, ctx, id, range), { ...headers, ...part });
}

/** Opens a part of a file, and sends it as fast as it is read; whichever side ends, the other does. */
async function open(app: App, ctx: Koa.Context, id: string, range: { start: number; end: number }): Promise<StreamBody> {
  if (ctx.method === 'HEAD') return () => undefined;
  const source = await app.storage.open(id, range);
  return (response: ServerResponse) => {
    // Its reader has left meanwhile.
    if (response.destroyed) return void source.destroy();
    response.setTimeout(UNREAD_MS, () => response.destroy());
    pipeline(source, response, (error) => {
      // Readers come and go; what they could not be given is for people.
      if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') app.log.warn({ err: error, clip: id }, 'a clip was cut off');
    });
  };
}
