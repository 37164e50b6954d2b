import { sql } from 'kysely';
import { isoInstant, queryBuilder } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { type ClipState, clipsTables } from './entities.ts';
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

/** Builds queries of the tables of this area. */
export const build = queryBuilder(clipsTables);

/** The columns of a `Clip`. */
export const clipColumns = ['id', 'wallet', 'game_id as gameId', 'title', 'type', 'bytes', isoInstant('created_at').as('createdAt')] as const;

/** An earlier upload of the same wallet that has the same content or the same idempotency key. */
export interface EarlierUpload extends Clip {
  readonly state: ClipState;
  readonly sameContent: boolean;
  readonly sameKey: boolean;
}

/**
 * Builds the query for earlier uploads by content or idempotency key. Uses a union instead of one condition with `or`, because each branch of the
 * union can use its own index.
 */
export function findEarlierUploads({ wallet, sha256, idempotencyKey }: ReceivedUpload) {
  const uploads = build
    .selectFrom('clips')
    .select(clipColumns)
    .select(['state', sql<boolean>`sha256 = ${sha256}`.as('sameContent')])
    .select(sql<boolean>`coalesce(idempotency_key = ${idempotencyKey}, false)`.as('sameKey'))
    .where('wallet', '=', wallet)
    .where('state', '<>', 'abandoned');
  const sameContent = uploads.where('sha256', '=', sha256);
  return idempotencyKey === null ? sameContent : sameContent.union(uploads.where('idempotency_key', '=', idempotencyKey));
}

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
const UPLOAD_TIMEOUT = sql`interval '15 minutes'`;

/** Builds the insert of a new row in the state `uploading`. */
export const insertClip = (id: string, { wallet, gameId, title, type, bytes, sha256, idempotencyKey }: ReceivedUpload) =>
  build.insertInto('clips').values({
    ...{ id, wallet, game_id: gameId, title, type, bytes, sha256, idempotency_key: idempotencyKey },
    day: sql`app_day()`,
    sweep_at: sql`app_now() + ${UPLOAD_TIMEOUT}`,
  });

/** Builds the update that makes an upload a clip. Updates and returns no row when the upload was abandoned. */
export const completeClip = (id: string) =>
  build
    .updateTable('clips')
    .set({ state: 'ready', created_at: sql`app_now()`, sweep_at: null })
    .where('id', '=', id)
    .where('state', '=', 'uploading')
    .returning(clipColumns);

/** Builds the update that abandons uploads. The sweep deletes their files later, when no process can write them any more. */
export const abandonClips = (ids: readonly string[]) =>
  build.updateTable('clips').set({ state: 'abandoned' }).where('id', 'in', ids).where('state', '=', 'uploading');
