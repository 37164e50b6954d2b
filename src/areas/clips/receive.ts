import type { Readable } from 'node:stream';
import type Koa from 'koa';
import { fail, unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { readForm } from '#platform/http/uploads.ts';
import type { UploadDraft } from '#platform/storage/upload-draft.ts';
import { isGif } from './gif.ts';
import { videoInspector } from './inspect.ts';
import { MEDIA_TYPES, type MediaType, mediaTypeOf } from './media-type.ts';
import { type Clip, findGame } from './rows.ts';
import { ClipFields, MAX_CLIP_BYTES } from './schemas.ts';
import { checkUsage, storeUpload } from './upload.ts';

/** Maximum concurrent uploads in this process: of one wallet, and of all wallets. An upload uses disk space until it is stored. */
const MAX_UPLOADS_PER_WALLET = 4;
const MAX_UPLOADS = 64;

const otherType = () => fail(415, `the content of file must be one of ${MEDIA_TYPES.join(', ')}`);

/**
 * Reads the structure of a received file.
 * @throws 415 when the file only begins like its type; 503 when the inspection takes too long
 */
async function requireStructure(app: App, draft: UploadDraft, type: MediaType): Promise<void> {
  if (type === 'image/gif') {
    if (!(await isGif(draft.read()))) throw otherType();
  } else if (!(await app.state(videoInspector)(draft, type))) throw fail(415, `file must be a complete ${type} with a video track`);
}

/** Wallets that are uploading in this process; one item per upload, so a wallet may occur several times. */
const uploadsInFlight = perApp((): string[] => []);

/**
 * Receives an upload, detects its type from the content, and stores it as a clip.
 * @throws 400 for a malformed form; 403 when the wallet is banned; 404 for an unknown game; 413 when the file is too large; 415 for another type; 429
 * for too many concurrent uploads of the wallet; 503 when the file is not inspected in time; also the 409, 429 and 503 of `storeUpload`
 */
export async function receiveClip(app: App, wallet: string, idempotencyKey: string | null, ctx: Koa.Context, body: Readable): Promise<Clip> {
  const inFlight = app.state(uploadsInFlight);
  if (inFlight.filter((other) => other === wallet).length >= MAX_UPLOADS_PER_WALLET) {
    const message = `a wallet may upload at most ${MAX_UPLOADS_PER_WALLET} clips at the same time`;
    throw tooManyRequests(message, { name: 'uploads', quota: MAX_UPLOADS_PER_WALLET, windowMs: null, waitMs: 5_000 });
  }
  if (inFlight.length >= MAX_UPLOADS) throw unavailable('too many clips are being uploaded; try again', 5);
  inFlight.push(wallet);
  try {
    await checkUsage(app, wallet, idempotencyKey);
    const draft = await app.storage.draft();
    try {
      let type: MediaType | null = null;
      const inspect = (head: Buffer) => {
        type = mediaTypeOf(head);
        if (!type) throw otherType();
      };
      const fields = await readForm(ctx, body, { file: 'file', fields: ClipFields }, (bytes) => draft.fill(bytes, MAX_CLIP_BYTES, inspect));
      const { gameId, title = null } = fields;
      if ((await app.db.query(findGame, [gameId])).length === 0) throw fail(404, 'gameId must be a game of this arcade');
      if (!type) throw new Error('the type of the file was not inspected');
      await requireStructure(app, draft, type);
      return await storeUpload(app, { wallet, gameId, title, type, bytes: draft.bytes, sha256: draft.sha256, idempotencyKey }, draft);
    } finally {
      await draft.close();
    }
  } finally {
    body.destroy();
    inFlight.splice(inFlight.indexOf(wallet), 1);
  }
}
