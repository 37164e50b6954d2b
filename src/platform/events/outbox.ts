import { type Queryable, statement } from '#platform/db/sql.ts';

/** Rounds of all publishers together keep this distance, ms: less than 20 a second, with room for jitter. */
export const TICK_MS = 55;

/** Rows that one round numbers and publishes, and about how many bytes of them. */
export const TICK_ROWS = 500;
const ROUND_BYTES = 1024 * 1024;

/** A published row is kept for a Redis that is restored from an older dump: this long. */
const KEPT = '1 hour';
const EXPIRE_ROWS = 5_000;

/** A published row: what happened, its place in the order of events, and when it happened (ms since 1970). */
export interface OutboxRow {
  readonly publication: number;
  readonly type: string;
  readonly wallet: string | null;
  readonly payload: Record<string, unknown>;
  readonly at: number;
}

export interface OutboxStatus {
  /** The last number given. */
  readonly publication: number;
  /** How long the next round has to wait. */
  readonly waitMs: number;
  readonly unnumbered: boolean;
}

// A clock that was set back must not stop the rounds: only a distance counts, either way.
const WAIT_MS = `greatest(0, ${TICK_MS} - abs(extract(epoch from app_now() - published_at)) * 1000)::float8 as "waitMs"`;

const outlook = statement<OutboxStatus>(
  'outbox_outlook',
  `select publication::float8 as publication, ${WAIT_MS}, exists (select 1 from outbox where publication is null) as unnumbered from outbox_counter`,
);

const lockCounter = statement<{ publication: number; waitMs: number }>(
  'outbox_lock_counter',
  `select publication::float8 as publication, ${WAIT_MS} from outbox_counter for update skip locked`,
);

// A statement after the lock, so that it sees what the round before has numbered.
const number = statement<{ publication: number }>(
  'outbox_number',
  `with picked as (
     select id, row_number() over (order by id) as n
     from (select id from outbox where publication is null order by id limit $2) as unnumbered
   ), numbered as (
     update outbox set publication = $1::bigint + picked.n from picked where outbox.id = picked.id
   )
   update outbox_counter set publication = $1::bigint + (select count(*) from picked), published_at = app_now(), appended = $3
   returning publication::float8 as publication`,
);

const numbered = statement<OutboxRow>(
  'outbox_numbered',
  `select publication::float8 as publication, type, wallet, payload, (extract(epoch from at) * 1000)::float8 as at
   from (
     select *, sum(octet_length(payload::text)) over (order by publication) - octet_length(payload::text) as before
     from (select publication, type, wallet, payload, at from outbox where publication > $1 order by publication limit ${TICK_ROWS}) as next
   ) as sized
   where before < ${ROUND_BYTES} order by publication`,
);

const counted = statement<{ publication: number }>('outbox_counted', `select publication::float8 as publication from outbox_counter`);

const removePublished = statement<{ publication: string }>(
  'outbox_remove_published',
  `delete from outbox where publication in (
     select publication
     from (select publication, at from outbox
           where publication <= (select appended from outbox_counter) order by publication limit ${EXPIRE_ROWS}) as oldest
     where at < (select app_now()) - interval '${KEPT}'
   ) returning publication::text`,
);

/** What there is to do, without a lock. */
export async function readOutboxStatus(db: Queryable): Promise<OutboxStatus> {
  const [row] = await db.query(outlook);
  if (!row) throw new Error('outbox_counter has no row');
  return row;
}

/** The last number given to an event. */
export async function lastPublication(db: Queryable): Promise<number> {
  const [row] = await db.query(counted);
  return row?.publication ?? 0;
}

/**
 * Takes the next round for its caller and numbers what waits, in the order in which it was written.
 * @param appended the last number that is in the feed
 * @returns the last number given, or null when the round is another publisher's or not due yet
 */
export async function takeTick(tx: Queryable, appended: number): Promise<number | null> {
  const [counter] = await tx.query(lockCounter);
  if (!counter || counter.waitMs > 0) return null;
  const room = Math.max(0, TICK_ROWS - Math.max(0, counter.publication - appended));
  const [now] = await tx.query(number, [counter.publication, room, appended]);
  return now?.publication ?? null;
}

/** The rows after a number, in order, about a round of them. */
export const readNumbered = (db: Queryable, after: number): Promise<OutboxRow[]> => db.query(numbered, [after]);

/**
 * Deletes rows that were published more than an hour ago, the oldest, in one bounded batch.
 * A Redis restored from a dump older than that begins a new feed instead of filling up the old one.
 * @returns whether there may be more: call it again, in a transaction of its own
 */
export async function expireOutbox(tx: Queryable): Promise<boolean> {
  return (await tx.query(removePublished)).length === EXPIRE_ROWS;
}
