import { defineEntity } from '@mikro-orm/core';
import { boolean, bytes, byteText, checks, index, integer, oneOf, text, timestamp, trigger, uuid, wallet } from '#platform/db/columns.ts';
import { storageTriggers } from '#platform/quotas/entities.ts';
import type { MediaType } from './media-type.ts';

/** States of an upload. The column `state` of `ClipsTable` describes them. */
const CLIP_STATES = ['uploading', 'abandoned', 'ready', 'removing', 'removed'] as const;
export type ClipState = (typeof CLIP_STATES)[number];

/** A row is the number of visible clips of a game. A trigger of the table `clips` keeps it up to date, because counting millions of clips is slow. */
export const ClipCountsTable = defineEntity({
  name: 'ClipCounts',
  tableName: 'clip_counts',
  properties: {
    gameId: byteText().primary(),
    n: integer(),
  },
});

/** A row is an upload of a clip. The file is in the object storage, under the id of the row. */
export const ClipsTable = defineEntity({
  name: 'Clips',
  tableName: 'clips',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    gameId: byteText(),
    title: text().nullable(),
    /** Media type, detected from the content. */
    type: byteText().$type<MediaType>(),
    /** Size of the file, bytes. */
    bytes: integer(),
    /** Hash of the content. A wallet can upload the same content only once. */
    sha256: bytes(),
    /** UTC day of the insert, days since 1970-01-01. The daily limits of the wallet use it. */
    day: integer(),
    idempotencyKey: byteText().nullable(),
    /**
     * `uploading`: the upload is in progress; a file may exist. `abandoned`: the upload will not continue; a file may exist. `ready`: the upload is
     * complete. `removing`: a moderator removed the clip; a file exists. `removed`: no file exists; the row still counts against the daily limits.
     */
    state: oneOf(...CLIP_STATES)
      .collation('C')
      .default('uploading'),
    /** Whether the wallet is banned. A trigger of the table `players` sets this column. */
    hidden: boolean().default(false),
    /** Time of the insert; for a complete upload, time of the completion. */
    createdAt: timestamp(3).defaultRaw('app_now()'),
    /** Time at which the sweep checks the row next; null when the sweep has nothing to do. */
    sweepAt: timestamp(3).nullable(),
    /** Time at which a moderator, an erasure or the owner removed the clip; null for any other clip. */
    removedAt: timestamp(3).nullable(),
    /** Why the clip was removed, for its owner; null without a reason. */
    removedReason: text().nullable(),
  },
  checks: checks(
    'bytes > 0',
    "(sweep_at is null) = (state in ('ready', 'removed'))",
    'octet_length(sha256) = 32',
    "type in ('video/mp4', 'video/webm', 'image/gif')",
  ),
  indexes: [
    index("create unique index clips_content on clips (wallet, sha256) where state <> 'abandoned'"),
    index("create index clips_day on clips (wallet, day) include (bytes) where state <> 'abandoned'"),
    index("create index clips_game on clips (game_id, created_at desc, id desc) where state = 'ready' and (not hidden)"),
    index("create unique index clips_key on clips (wallet, idempotency_key) where state <> 'abandoned' and idempotency_key is not null"),
    index("create index clips_newest on clips (created_at desc, id desc) where state = 'ready' and (not hidden)"),
    index('create index clips_own on clips (wallet, created_at desc, id desc)'),
    index('create index clips_sweep on clips (sweep_at) where sweep_at is not null'),
    index("create index clips_wallet on clips (wallet, created_at desc, id desc) where state = 'ready' and (not hidden)"),
    index("create index clips_wallet_game on clips (wallet, game_id, created_at desc, id desc) where state = 'ready' and (not hidden)"),
  ],
  triggers: [
    trigger(
      'create trigger clips_count after update on clips REFERENCING OLD TABLE AS old_clips NEW TABLE AS new_clips for each statement execute function count_clips()',
    ),
    ...storageTriggers('clips'),
  ],
});

/** Tables of this area. */
export const clipsTables = [ClipCountsTable, ClipsTable] as const;
