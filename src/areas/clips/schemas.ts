import { z } from 'zod';
import { Count, Id, Instant, line, Slug, Wallet } from '#lib/scalars.ts';
import { MEDIA_TYPES } from './media-type.ts';

/** Maximum size of a clip, bytes. */
export const MAX_CLIP_BYTES = 50 * 1024 * 1024;

/** The fields of the upload form other than the file. */
export const ClipFields = z.strictObject({
  gameId: Slug,
  title: line(120).optional().meta({ description: 'Title, one line.', example: 'The last brick' }),
});
export type ClipFields = z.output<typeof ClipFields>;

export const ClipUpload = ClipFields.extend({
  file: z
    .string()
    .meta({ format: 'binary', description: `The clip: ${MEDIA_TYPES.join(', ')}; at most ${MAX_CLIP_BYTES} bytes. Its file name is ignored.` }),
}).meta({ id: 'ClipUpload' });

export const ClipView = z
  .strictObject({
    id: Id,
    wallet: Wallet.meta({ description: 'Wallet that uploaded the clip.' }),
    gameId: Slug,
    title: z.string().nullable().meta({ example: 'The last brick' }),
    type: z.enum(MEDIA_TYPES).meta({ description: 'Media type, detected from the content.', example: 'video/mp4' }),
    bytes: Count.meta({ example: 4_194_304 }),
    url: z
      .string()
      .meta({ description: 'URL of the file; supports Range.', example: 'https://coinop.example/clips/0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a/media' }),
    createdAt: Instant,
  })
  .meta({ id: 'Clip' });
export type ClipView = z.input<typeof ClipView>;

/** A clip as its wallet sees it, also after its removal. */
export const OwnClip = ClipView.omit({ wallet: true, url: true })
  .extend({
    status: z.enum(['visible', 'hidden', 'removed']).meta({ description: 'hidden: while the wallet is banned.', example: 'visible' }),
    removedAt: Instant.nullable().meta({ example: null }),
    removedReason: z.string().nullable().meta({ description: 'Why the clip was removed; null without a reason.', example: null }),
  })
  .meta({ id: 'OwnClip' });
export type OwnClip = z.input<typeof OwnClip>;
