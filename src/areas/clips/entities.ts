import { defineEntity } from '@mikro-orm/core';
import { boolean, bytes, byteText, checks, index, integer, text, timestamp, trigger, uuid, wallet } from '#platform/db/columns.ts';

export const ClipCountsTable = defineEntity({
  name: 'ClipCounts',
  tableName: 'clip_counts',
  properties: {
    gameId: byteText().primary(),
    n: integer(),
  },
});

export const ClipsTable = defineEntity({
  name: 'Clips',
  tableName: 'clips',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    gameId: byteText(),
    title: text().nullable(),
    type: byteText(),
    bytes: integer(),
    sha256: bytes(),
    day: integer(),
    idempotencyKey: byteText().nullable(),
    state: byteText().default('uploading'),
    hidden: boolean().default(false),
    createdAt: timestamp(3).defaultRaw('app_now()'),
    sweepAt: timestamp(3).nullable(),
  },
  checks: checks(
    'bytes > 0',
    "(sweep_at is null) = (state in ('ready', 'removed'))",
    'octet_length(sha256) = 32',
    "state in ('uploading', 'abandoned', 'ready', 'removing', 'removed')",
    "type in ('video/mp4', 'video/webm', 'image/gif')",
  ),
  indexes: [
    index("create unique index clips_content on clips (wallet, sha256) where state <> 'abandoned'"),
    index("create index clips_day on clips (wallet, day) include (bytes) where state <> 'abandoned'"),
    index("create index clips_game on clips (game_id, created_at desc, id desc) where state = 'ready' and (not hidden)"),
    index("create unique index clips_key on clips (wallet, idempotency_key) where state <> 'abandoned' and idempotency_key is not null"),
    index("create index clips_newest on clips (created_at desc, id desc) where state = 'ready' and (not hidden)"),
    index('create index clips_sweep on clips (sweep_at) where sweep_at is not null'),
    index("create index clips_wallet on clips (wallet, created_at desc, id desc) where state = 'ready' and (not hidden)"),
    index("create index clips_wallet_game on clips (wallet, game_id, created_at desc, id desc) where state = 'ready' and (not hidden)"),
  ],
  triggers: [
    trigger(
      'create trigger clips_count after update on clips REFERENCING OLD TABLE AS old_clips NEW TABLE AS new_clips for each statement execute function count_clips()',
    ),
  ],
});

/** Tables of this area. */
export const clipsTables = [ClipCountsTable, ClipsTable] as const;
