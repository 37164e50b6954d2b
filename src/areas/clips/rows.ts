import { instant, statement } from '#platform/db/sql.ts';
import type { MediaType } from './media-type.ts';

/** A completely received upload. */
export interface ReceivedUpload {
  readonly wallet: string;
  readonly gameId: string;
  readonly title: string | null;
  readonly type: MediaType;
  readonly bytes: number;
  readonly sha256: Buffer;
  readonly idempotencyKey: string | null;
}

/** A visible clip. */
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
export interface EarlierUpload extends Clip {
  readonly state: 'uploading' | 'ready' | 'removing' | 'removed';
  readonly sameContent: boolean;
  readonly sameKey: boolean;
}

const SELECT_EARLIER = `select ${CLIP_COLUMNS}, state, sha256 = $2 as "sameContent", coalesce(idempotency_key = $3, false) as "sameKey" from clips`;
/** Each branch of the union uses its own index. */
export const findEarlierUploads = statement<EarlierUpload>(
  'find_earlier_clips',
  `${SELECT_EARLIER} where wallet = $1 and sha256 = $2 and state <> 'abandoned'
   union ${SELECT_EARLIER} where wallet = $1 and idempotency_key = $3 and idempotency_key is not null and state <> 'abandoned'`,
);

/** Reads the table of games directly, because clips may not import the arcade. */
export const findGame = statement<{ id: string }>('find_game_of_clip', 'select id from games where id = $1');

/** Reads today's uploads of a wallet and the rest of the UTC day, seconds. `known`: whether the wallet has used the key before. */
export const readUsage = statement<{ clips: number; bytes: number; leftSec: number; known: boolean }>(
  'read_clip_usage',
  `select count(*)::int as clips, coalesce(sum(bytes), 0)::float8 as bytes,
          (86400 - floor(extract(epoch from app_now()))::bigint % 86400)::int as "leftSec",
          exists (select from clips where wallet = $1 and idempotency_key = $2 and idempotency_key is not null and state <> 'abandoned') as known
   from clips where wallet = $1 and day = (select app_day()) and state <> 'abandoned'`,
);

/** Maximum time in the state `uploading`. It is longer than the timeout of the storage, so an older row belongs to a killed process. */
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
/** Abandons uploads. The sweep deletes their files later, when no process can still be writing them. */
export const abandonClips = statement('abandon_clips', `update clips set state = 'abandoned' where id = any($1::uuid[]) and state = 'uploading'`);
export const clipExists = statement<{ id: string }>('clip_exists', 'select id from clips where id = $1');
