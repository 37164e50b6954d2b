import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { Id, line, Slug, Wallet } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { formStream, reply, route, streamOf } from '#platform/http/route.ts';
import { MAX_FORM_OVERHEAD_BYTES } from '#platform/http/uploads.ts';
import { listClips, listOwnClips } from './list.ts';
import { mediaUrlOf, readClip, sendMedia } from './media.ts';
import { MEDIA_TYPES } from './media-type.ts';
import { receiveClip } from './receive.ts';
import { removeClip } from './remove.ts';
import type { Clip } from './rows.ts';
import { ClipUpload, ClipView, MAX_CLIP_BYTES, OwnClip } from './schemas.ts';
import { MAX_DAILY_BYTES, MAX_DAILY_CLIPS } from './upload.ts';

const ClipPath = z.strictObject({ id: Id.meta({ description: 'The id of the clip.' }) });

/** Converts a clip into its public view. */
const present = (app: App, { id, wallet, gameId, title, type, bytes, createdAt }: Clip): ClipView => ({
  ...{ id, wallet, gameId, title, type, bytes },
  url: mediaUrlOf(app, id),
  createdAt,
});

const postClip = route({
  method: 'post',
  path: '/clip/upload',
  auth: 'session',
  load: 'upload',
  summary: 'Upload a clip',
  description:
    `Takes a multipart form with the file in the field \`file\`, in any order. At most ${MAX_DAILY_CLIPS} clips and ${MAX_DAILY_BYTES} bytes per wallet and UTC day (429). All clips of a wallet together have a storage quota: 409 when it is used up. ` +
    'The same content again gives 409, with the existing clip in `Location`. With the same `Idempotency-Key` and the same fields, the response is the existing ' +
    'clip. Quests count the clip within a second.',
  body: formStream(ClipUpload, MAX_CLIP_BYTES + MAX_FORM_OVERHEAD_BYTES),
  returns: { 201: ClipView },
  fails: [403, 404, 409, 429],
  idempotent: true,
  handler: async ({ app, wallet, body, ctx, idempotencyKey }) => reply(201, present(app, await receiveClip(app, wallet, idempotencyKey, ctx, body))),
});

const getClips = route({
  method: 'get',
  path: '/clips',
  auth: 'public',
  summary: 'List clips, newest first',
  description: 'All clips, or the clips of a game, a wallet, or both.',
  query: PageQuery.extend({
    gameId: Slug.optional().meta({ description: 'Only clips of this game.' }),
    wallet: Wallet.optional().meta({ description: 'Only clips of this wallet.' }),
  }),
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

const getClip = route({
  method: 'get',
  path: '/clips/{id}',
  auth: 'public',
  summary: 'Read a clip',
  params: ClipPath,
  returns: { 200: ClipView },
  fails: [404],
  cache: 'no-cache',
  handler: async ({ app, params }) => reply(200, present(app, await readClip(app, params.id))),
});

const getOwnClips = route({
  method: 'get',
  path: '/me/clips',
  auth: 'session',
  forBanned: true,
  summary: 'List the caller’s clips, newest first',
  description: 'Also removed clips, with the reason, and the hidden clips of a banned wallet.',
  query: PageQuery,
  returns: { 200: z.array(OwnClip) },
  fails: [],
  handler: async ({ app, wallet, query: { limit, offset } }) => {
    const { clips, total } = await listOwnClips(app.db, wallet, limit, offset);
    return reply(200, clips, { 'X-Total-Count': String(total) });
  },
});

const getMedia = route({
  method: 'get',
  path: '/clips/{id}/media',
  auth: 'public',
  summary: 'Download the file of a clip',
  description:
    'Supports `Range` with one range, and `If-Range`. A request with several ranges gets the whole file. The file never changes and may be cached for a day. Follow redirects: files may have an origin of their own.',
  params: ClipPath,
  returns: { 200: streamOf(MEDIA_TYPES), 206: streamOf(MEDIA_TYPES), 304: null, 307: null },
  fails: [404, 416],
  handler: ({ app, params, ctx }) => sendMedia(app, ctx, params.id),
});

const deleteClip = route({
  method: 'delete',
  path: '/admin/clips/{id}',
  auth: { admin: 'moderation' },
  summary: 'Remove a clip',
  description: 'The clip disappears at once; its file is deleted soon after. The wallet that uploaded it cannot upload the same content again.',
  params: ClipPath,
  query: z.object({ reason: line(200).optional().meta({ description: 'Why; the wallet that uploaded the clip can read it.' }) }),
  returns: { 204: null },
  fails: [404],
  handler: async ({ app, params, query }) => {
    const removed = await app.tx((tx) => removeClip(tx, params.id, query.reason ?? null));
    if (!removed) throw fail(404, 'no such clip');
    return reply(204, null);
  },
});

/** The endpoints of clips, grouped by the callers that may use them. */
export const clipRoutes = { public: [getClips, getClip, getMedia], session: [postClip, getOwnClips], admin: [deleteClip] };
