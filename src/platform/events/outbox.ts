import { type Queryable, statement } from '#platform/db/sql.ts';

/** Minimum interval between two ticks of all publishers together, ms: fewer than 20 a second, with room for jitter. */
export const TICK_MS = 55;

/** Maximum rows per tick, and their approximate size in bytes. */
const TICK_ROWS = 500;
const TICK_BYTES = 1024 * 1024;

/** How long published rows are kept, so that a Redis restored from an older dump can be completed. */
const RETENTION = '1 hour';
const PURGE_ROWS = 5_000;

/** A published row of the outbox. */
export interface OutboxRow {
  /** Position in the order of all events. */
  readonly publication: number;
  readonly type: string;
  readonly wallet: string | null;
  readonly payload: Record<string, unknown>;
  /** When the event happened, ms since 1970. */
  readonly at: number;
}

/** What a publisher needs to know before a tick. */
export interface OutboxStatus {
  /** The last publication number assigned. */
  readonly publication: number;
  /** Time until the next tick is allowed, ms. */
  readonly waitMs: number;
  /** Whether rows wait for a number. */
  readonly unnumbered: boolean;
}

// `abs`, so that a clock that was set back does not stop the ticks.
const WAIT_MS = `greatest(0, ${TICK_MS} - abs(extract(epoch from app_now() - published_at)) * 1000)::float8 as "waitMs"`;

const selectStatus = statement<OutboxStatus>(
  'outbox_outlook',
  `select publication::float8 as publication, ${WAIT_MS}, exists (select 1 from outbox where publication is null) as unnumbered from outbox_counter`,
);

const lockCounter = statement<{ publication: number; waitMs: number }>(
  'outbox_lock_counter',
  `select publication::float8 as publication, ${WAIT_MS} from outbox_counter for update skip locked`,
);

// A statement of its own after the lock, so that it sees the numbers that the previous tick assigned.
const assignNumbers = statement<{ publication: number }>(
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

const selectNumbered = statement<OutboxRow>(
  'outbox_numbered',
  `select publication::float8 as publication, type, wallet, payload, (extract(epoch from at) * 1000)::float8 as at
   from (
     select *, sum(octet_length(payload::text)) over (order by publication) - octet_length(payload::text) as before
     from (select publication, type, wallet, payload, at from outbox where publication > $1 order by publication limit ${TICK_ROWS}) as next
   ) as sized
   where before < ${TICK_BYTES} order by publication`,
);

const selectPublication = statement<{ publication: number }>('outbox_counted', `select publication::float8 as publication from outbox_counter`);

const removePublished = statement<{ publication: string }>(
  'outbox_remove_published',
  `delete from outbox where publication in (
     select publication
     from (select publication, at from outbox
           where publication <= (select appended from outbox_counter) order by publication limit ${PURGE_ROWS}) as oldest
     where at < (select app_now()) - interval '${RETENTION}'
   ) returning publication::text`,
);

/** Reads the status of the outbox without a lock. */
export async function readOutboxStatus(db: Queryable): Promise<OutboxStatus> {
  const [row] = await db.query(selectStatus);
  if (!row) throw new Error('outbox_counter has no row');
  return row;
}

/** Returns the last publication number assigned. */
export async function lastPublication(db: Queryable): Promise<number> {
  const [row] = await db.query(selectPublication);
  return row?.publication ?? 0;
}

/**
 * Takes the next tick and assigns numbers to unnumbered rows, in the order of their ids.
 * @param appended the last number in the Redis stream
 * @returns the last number assigned; null when another publisher holds the tick or the tick is not due yet
 */
export async function takeTick(tx: Queryable, appended: number): Promise<number | null> {
  const [counter] = await tx.query(lockCounter);
  if (!counter || counter.waitMs > 0) return null;
  const room = Math.max(0, TICK_ROWS - Math.max(0, counter.publication - appended));
  const [now] = await tx.query(assignNumbers, [counter.publication, room, appended]);
  return now?.publication ?? null;
}

/** Returns the rows after a number, in order, at most one tick of them. */
export const readNumbered = (db: Queryable, after: number): Promise<OutboxRow[]> => db.query(selectNumbered, [after]);

/**
 * Deletes the oldest rows that were published more than an hour ago, one bounded batch of them.
 * A Redis restored from an older dump starts a new stream, because the rows that it misses are deleted.
 * @returns whether more rows may be left; the caller then calls again in a new transaction
 */
export async function purgeOutbox(tx: Queryable): Promise<boolean> {
  return (await tx.query(removePublished)).length === PURGE_ROWS;
}
