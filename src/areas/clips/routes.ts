import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Id, Slug, Wallet } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { formStream, reply, route, streamOf } from '#platform/http/route.ts';
import { MAX_FORM_OVERHEAD_BYTES } from '#platform/http/uploads.ts';
import { listClips } from './list.ts';
import { readClip, sendMedia } from './media.ts';
import { MEDIA_TYPES } from './media-type.ts';
import { receiveClip } from './receive.ts';
import { removeClip } from './remove.ts';
import type { Clip } from './rows.ts';
import { ClipUpload, ClipView, MAX_CLIP_BYTES } from './schemas.ts';
import { MOST_BYTES, MOST_CLIPS } from './upload.ts';

const ClipPath = z.strictObject({ id: Id });

/** A clip as it is shown; `url` by the service's public address. */
const present = ({ config }: App, { id, wallet, gameId, title, type, bytes, createdAt }: Clip): ClipView => ({
  ...{ id, wallet, gameId, title, type, bytes },
  url: `${config.publicUrl.href.replace(/\/$/, '')}/clips/${id}/media`,
  createdAt,
});

export const postClip = route({
  method: 'post',
  path: '/clip/upload',
  auth: 'session',
  summary: 'Upload a clip',
  description:
    `A form with the field \`file\` and, before or after it, the others. At most ${MOST_CLIPS} clips and ${MOST_BYTES} bytes per wallet and UTC day (429). The same ` +
    'content again is 409, `Location` saying which clip it is; under the same `Idempotency-Key`, and with the same fields, it is the same clip. What ' +
    'asks for clips, such as the quest `clip-upload`, counts it within a second.',
  body: formStream(ClipUpload, MAX_CLIP_BYTES + MAX_FORM_OVERHEAD_BYTES),
  returns: { 201: ClipView },
  fails: [403, 404, 409, 429],
  idempotent: true,
  handler: async ({ app, wallet, body, ctx, idempotencyKey }) => reply(201, present(app, await receiveClip(app, wallet, idempotencyKey, ctx, body))),
});

export const getClips = route({
  method: 'get',
  path: '/clips',
  auth: 'public',
  summary: 'Clips, newest first',
  description: 'Of a game, of a wallet, of both, or all.',
  query: PageQuery.extend({ gameId: Slug.optional(), wallet: Wallet.optional() }),
  returns: { 200: z.array(ClipView) },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app, query: { limit, offset, ...filter } }) => {
    const { clips, total } = await listClips(app.db, filter, limit, offset);
    return reply(
      200,
      clips.map((clip) => present(app, clip)),
      { 'X-Total-Count': String(total) },
    );
  },
});

export const getClip = route({
  method: 'get',
  path: '/clips/{id}',
  auth: 'public',
  summary: 'A clip',
  params: ClipPath,
  returns: { 200: ClipView },
  fails: [404],
  cache: 'no-cache',
  handler: async ({ app, params }) => reply(200, present(app, await readClip(app, params.id))),
});

export const getMedia = route({
  method: 'get',
  path: '/clips/{id}/media',
  auth: 'public',
  summary: 'The file of a clip',
  description:
    'Takes `Range` of one part, with `If-Range`; several parts are answered with the whole file. It never changes, and may be kept for a day.',
  params: ClipPath,
  returns: { 200: streamOf(MEDIA_TYPES), 206: streamOf(MEDIA_TYPES), 304: null },
  fails: [404, 416],
  handler: ({ app, params, ctx }) => sendMedia(app, ctx, params.id),
});

export const deleteClip = route({
  method: 'delete',
  path: '/admin/clips/{id}',
  auth: { admin: 'moderation' },
  summary: 'Remove a clip',
  description: 'It is gone at once, and its file soon after. Its wallet may not upload the same content again.',
  params: ClipPath,
  returns: { 204: null },
  fails: [404],
  handler: async ({ app, params }) => {
    await removeClip(app, params.id);
    return reply(204, null);
  },
});

export const clipRoutes = { public: [getClips, getClip, getMedia], session: [postClip], admin: [deleteClip] };
