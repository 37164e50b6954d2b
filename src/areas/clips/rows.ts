import { instant, statement } from '#platform/db/sql.ts';
import type { MediaType } from './media-type.ts';

/** An upload that has arrived whole. */
export interface Upload {
  readonly wallet: string;
  readonly gameId: string;
  readonly title: string | null;
  readonly type: MediaType;
  readonly bytes: number;
  readonly sha256: Buffer;
  readonly idempotencyKey: string | null;
}

/** A clip that is there for everybody. */
export interface Clip {
  readonly id: string;
  readonly wallet: string;
  readonly gameId: string;
  readonly title: string | null;
  readonly type: MediaType;
  readonly bytes: number;
  /** ISO 8601 in UTC. */
  readonly createdAt: string;
}

export const CLIP_COLUMNS = `id, wallet, game_id as "gameId", title, type, bytes,
  ${instant('created_at')} as "createdAt"`;

/** An upload of the same wallet with the same content, or under the same key. */
export interface Earlier extends Clip {
  readonly state: 'uploading' | 'ready' | 'removing' | 'removed';
  readonly sameContent: boolean;
  readonly sameKey: boolean;
}

const EARLIER = `select ${CLIP_COLUMNS}, state, sha256 = $2 as "sameContent", coalesce(idempotency_key = $3, false) as "sameKey" from clips`;
/** Each branch has its index. */
export const findEarlier = statement<Earlier>(
  'find_earlier_clips',
  `${EARLIER} where wallet = $1 and sha256 = $2 and state <> 'abandoned'
   union ${EARLIER} where wallet = $1 and idempotency_key = $3 and idempotency_key is not null and state <> 'abandoned'`,
);

/** Games are the arcade's, which stands beside clips. */
export const findGame = statement<{ id: string }>('find_game_of_clip', 'select id from games where id = $1');

/** What a wallet has uploaded today, and how long today still is. `known`: whether it has used a key before. */
export const readUsage = statement<{ clips: number; bytes: number; leftSec: number; known: boolean }>(
  'read_clip_usage',
  `select count(*)::int as clips, coalesce(sum(bytes), 0)::float8 as bytes,
          (86400 - floor(extract(epoch from app_now()))::bigint % 86400)::int as "leftSec",
          exists (select from clips where wallet = $1 and idempotency_key = $2 and idempotency_key is not null and state <> 'abandoned') as known
   from clips where wallet = $1 and day = (select app_day()) and state <> 'abandoned'`,
);

/** How long a row may be uploading, longer than the storage is given: then nobody comes back for it. */
export const GRACE = `interval '15 minutes'`;

export const insertClip = statement(
  'insert_clip',
  `insert into clips (id, wallet, game_id, title, type, bytes, sha256, idempotency_key, day, sweep_at)
   select $1, $2, $3, $4, $5, $6, $7, $8, app_day(), app_now() + ${GRACE}`,
);
export const completeClip = statement<Clip>(
  'complete_clip',
  `update clips set state = 'ready', created_at = app_now(), sweep_at = null where id = $1 and state = 'uploading' returning ${CLIP_COLUMNS}`,
);
/** Gives uploads up. What may lie in the storage is removed by the sweep, when nobody can be writing it any more. */
export const abandonClips = statement('abandon_clips', `update clips set state = 'abandoned' where id = any($1::uuid[]) and state = 'uploading'`);
export const clipExists = statement<{ id: string }>('clip_exists', 'select id from clips where id = $1');
