import { instant, statement } from '#platform/db/sql.ts';
import type { MediaType } from './media-type.ts';

/** An upload whose body has been received completely. */
export interface ReceivedUpload {
  readonly wallet: string;
  readonly gameId: string;
  readonly title: string | null;
  readonly type: MediaType;
  readonly bytes: number;
  readonly sha256: Buffer;
  readonly idempotencyKey: string | null;
}

/** A clip that clients can see. */
export interface Clip {
  readonly id: string;
  readonly wallet: string;
  readonly gameId: string;
  readonly title: string | null;
  readonly type: MediaType;
  readonly bytes: number;
  /** Time of the upload, ISO 8601 in UTC. */
  readonly createdAt: string;
}

export const CLIP_COLUMNS = `id, wallet, game_id as "gameId", title, type, bytes,
  ${instant('created_at')} as "createdAt"`;

/** An earlier upload of the same wallet that has the same content or the same idempotency key. */
export interface EarlierUpload extends Clip {
  readonly state: 'uploading' | 'ready' | 'removing' | 'removed';
  readonly sameContent: boolean;
  readonly sameKey: boolean;
}

const SELECT_EARLIER = `select ${CLIP_COLUMNS}, state, sha256 = $2 as "sameContent", coalesce(idempotency_key = $3, false) as "sameKey" from clips`;
/**
 * Finds earlier uploads by content or idempotency key. Uses a union instead of one condition with `or`, because each branch of the union can use its
 * own index.
 */
export const findEarlierUploads = statement<EarlierUpload>(
  'find_earlier_clips',
  `${SELECT_EARLIER} where wallet = $1 and sha256 = $2 and state <> 'abandoned'
   union ${SELECT_EARLIER} where wallet = $1 and idempotency_key = $3 and idempotency_key is not null and state <> 'abandoned'`,
);

/** Reads the table of games directly, because clips may not import the arcade. */
export const findGame = statement<{ id: string }>('find_game_of_clip', 'select id from games where id = $1');

/**
 * Reads the number and the total size of a wallet's uploads on this UTC day, and the seconds until the day ends. `known`: whether the wallet has used
 * the idempotency key before.
 */
export const readUsage = statement<{ clips: number; bytes: number; leftSec: number; known: boolean }>(
  'read_clip_usage',
  `select count(*)::int as clips, coalesce(sum(bytes), 0)::float8 as bytes,
          (86400 - floor(extract(epoch from app_now()))::bigint % 86400)::int as "leftSec",
          exists (select from clips where wallet = $1 and idempotency_key = $2 and idempotency_key is not null and state <> 'abandoned') as known
   from clips where wallet = $1 and day = (select app_day()) and state <> 'abandoned'`,
);

/**
 * Maximum time of a row in the state `uploading`. A process that wrote an older row must have been killed, because the timeout of the storage is
 * shorter than this time.
 */
const UPLOAD_TIMEOUT = `interval '15 minutes'`;

export const insertClip = statement(
  'insert_clip',
  `insert into clips (id, wallet, game_id, title, type, bytes, sha256, idempotency_key, day, sweep_at)
   select $1, $2, $3, $4, $5, $6, $7, $8, app_day(), app_now() + ${UPLOAD_TIMEOUT}`,
);
export const completeClip = statement<Clip>(
  'complete_clip',
  `update clips set state = 'ready', created_at = app_now(), sweep_at = null where id = $1 and state = 'uploading' returning ${CLIP_COLUMNS}`,
);
/** Abandons uploads. The sweep deletes their files later, when no process can write them any more. */
export const abandonClips = statement('abandon_clips', `update clips set state = 'abandoned' where id = any($1::uuid[]) and state = 'uploading'`);
export const clipExists = statement<{ id: string }>('clip_exists', 'select id from clips where id = $1');
