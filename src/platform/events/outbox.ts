import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/**
 * Minimum interval between two ticks of all publishers together, ms. In a tick, a publisher publishes one group of outbox rows. The interval keeps
 * the rate below 20 broadcasts per second, the limit that the API promises.
 */
export const TICK_MS = 55;

/** Maximum rows per tick, and maximum approximate size of these rows in bytes. */
const TICK_ROWS = 500;
const TICK_BYTES = 1024 * 1024;

/** How long published rows are kept. If Redis is restored from an older dump, the publisher completes the Redis stream from these rows. */
const RETENTION = '1 hour';
const PURGE_ROWS = 5_000;

/** An outbox row that has a publication number. */
export interface OutboxRow {
  /** Publication number: the position of the event in the order of all events. */
  readonly publication: number;
  readonly type: string;
  readonly wallet: string | null;
  readonly payload: Record<string, unknown>;
  /** When the event happened, ms since 1970. */
  readonly at: number;
}

/** The state of the outbox that a publisher reads before a tick. */
export interface OutboxStatus {
  /** The last publication number that was assigned. */
  readonly publication: number;
  /** Time until the next tick is allowed, ms. */
  readonly waitMs: number;
  /** Whether the outbox contains rows without a publication number. */
  readonly unnumbered: boolean;
}

// Uses the absolute difference of the times. After the clock was set back, `published_at` is in the future, and without `abs` no tick would start
// until that time.
const WAIT_MS = `greatest(0, ${TICK_MS} - abs(extract(epoch from app_now() - published_at)) * 1000)::float8 as "waitMs"`;

const selectStatus = statement<OutboxStatus>(
  'outbox_outlook',
  `select publication::float8 as publication, ${WAIT_MS}, exists (select 1 from outbox where publication is null) as unnumbered from outbox_counter`,
);

const lockCounter = statement<{ publication: number; waitMs: number }>(
  'outbox_lock_counter',
  `select publication::float8 as publication, ${WAIT_MS} from outbox_counter for update skip locked`,
);

// Runs as a separate statement after `lockCounter`, so that it sees the numbers that the previous tick assigned.
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

// `pg_column_size` returns the size of a large payload without reading the payload.
const selectNumbered = statement<OutboxRow>(
  'outbox_numbered',
  `select publication::float8 as publication, type, wallet, payload, (extract(epoch from at) * 1000)::float8 as at
   from (
     select *, sum(pg_column_size(payload)) over (order by publication) - pg_column_size(payload) as before
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

/** The rows of a tick. */
export interface Tick {
  /** The last publication number that was assigned. */
  readonly last: number;
  /** The rows whose publication number is above the last one in the Redis stream, in ascending order, at most as many as fit in one tick. */
  readonly rows: readonly OutboxRow[];
}

/**
 * Runs the next tick: assigns publication numbers to rows without a number, in the order of their ids, and reads the rows to publish. Commits `tx` with its
 * last statements.
 * @param appended the last publication number in the Redis stream
 * @returns null when another publisher is assigning numbers or the next tick is not due yet
 */
export async function takeTick(tx: Tx, appended: number): Promise<Tick | null> {
  const [counter] = await tx.query(lockCounter);
  if (!counter || counter.waitMs > 0) return null;
  const room = Math.max(0, TICK_ROWS - Math.max(0, counter.publication - appended));
  const [[now], rows] = await tx.last(() =>
    Promise.all([tx.query(assignNumbers, [counter.publication, room, appended]), tx.query(selectNumbered, [appended])]),
  );
  return now ? { last: now.publication, rows } : null;
}

/**
 * Deletes rows that were published more than an hour ago, oldest first, at most one batch. If Redis is later restored from a dump that lacks a
 * deleted row, the publisher starts a new stream.
 * @returns whether more rows may be left; the caller then calls again in a new transaction
 */
export async function purgeOutbox(tx: Queryable): Promise<boolean> {
  return (await tx.query(removePublished)).length === PURGE_ROWS;
}
