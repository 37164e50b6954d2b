import type { Readable } from 'node:stream';
import type Koa from 'koa';
import { fail, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { readForm } from '#platform/http/uploads.ts';
import { MEDIA_TYPES, type MediaType, mediaTypeOf } from './media-type.ts';
import { type Clip, findGame } from './rows.ts';
import { ClipFields, MAX_CLIP_BYTES } from './schemas.ts';
import { checkUsage, keepUpload } from './upload.ts';

/** Uploads that a process receives at once, of one wallet and of all: each takes its size on the disk until it is kept. */
const MOST_OF_WALLET = 4;
const MOST_AT_ONCE = 64;

/** Who is uploading to this process, once for each upload. */
const uploading = new WeakMap<App, string[]>();

/**
 * Receives an upload, tells what it is by its content, and keeps it as a clip.
 * @throws 400 a malformed form; 403 a banned wallet; 404 an unknown game; 409, 429, 503 see `keepUpload`; 413 too large; 415 another type
 */
export async function receiveClip(app: App, wallet: string, idempotencyKey: string | null, ctx: Koa.Context, body: Readable): Promise<Clip> {
  const busy = uploading.get(app) ?? [];
  uploading.set(app, busy);
  if (busy.filter((other) => other === wallet).length >= MOST_OF_WALLET) {
    throw fail(429, `a wallet may upload ${MOST_OF_WALLET} clips at once`, { 'Retry-After': '5' });
  }
  if (busy.length >= MOST_AT_ONCE) throw unavailable('too many clips are being uploaded, try again', 5);
  busy.push(wallet);
  try {
    await checkUsage(app, wallet, idempotencyKey);
    const draft = await app.storage.draft();
    try {
      let type: MediaType | null = null;
      const inspect = (head: Buffer) => {
        type = mediaTypeOf(head);
        if (!type) throw fail(415, `file must be one of ${MEDIA_TYPES.join(', ')}, by its content`);
      };
      const fields = await readForm(ctx, body, { file: 'file', fields: ClipFields }, (bytes) => draft.fill(bytes, MAX_CLIP_BYTES, inspect));
      const { gameId, title = null } = fields;
      if ((await app.db.query(findGame, [gameId])).length === 0) throw fail(404, 'gameId must be a game of this arcade');
      if (!type) throw new Error('a file was not inspected');
      return await keepUpload(app, { wallet, gameId, title, type, bytes: draft.bytes, sha256: draft.sha256, idempotencyKey }, draft);
    } finally {
      await draft.close();
    }
  } finally {
    body.destroy();
    busy.splice(busy.indexOf(wallet), 1);
  }
}
