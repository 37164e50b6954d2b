import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './build.ts';
import { arcadeEvent } from './events.ts';

/** An event that the arcade shows once, such as an animation or an announcement. */
export interface OneTimeEvent {
  id: string;
  name: string;
  /** Free-form JSON; null for an event without a payload. */
  payload: unknown;
  /** Start of the event, ISO 8601 in UTC. */
  startsAt: string;
  endsAt: string;
}

/** Maximum events in the list of active one-time events. The list contains the newest ones. */
const MAX_LISTED = 50;

const COLUMNS = `id::text, name, payload, ${instant('starts_at')} as "startsAt", ${instant('ends_at')} as "endsAt"`;

const insertEvent = statement<OneTimeEvent & { isBegun: boolean }>(
  'insert_arcade_event',
  `with clock as materialized (select app_now() as now)
   insert into arcade_events (id, name, payload, starts_at, ends_at, broadcast_at)
   select $1, $2, $3::jsonb, begin, begin + make_interval(secs => $4::int), case when begin <= now then now end
   from (select now, greatest(now, $5::timestamptz) as begin from clock) t returning ${COLUMNS}, broadcast_at is not null as "isBegun"`,
);
const selectActive = statement<OneTimeEvent>(
  'select_arcade_events',
  `select ${COLUMNS} from arcade_events where ends_at > (select app_now()) and starts_at <= (select app_now())
   order by starts_at desc, id desc limit ${MAX_LISTED}`,
);

const selectPage = statement<OneTimeEvent>(
  'select_arcade_event_page',
  `select ${COLUMNS} from arcade_events order by arcade_events.starts_at desc, id desc limit $1 offset $2`,
);
const countEvents = statement<{ total: number }>('count_arcade_events', 'select count(*)::int as total from arcade_events');
/** SQL: the events whose start has come and that are not broadcast. */
export const DUE_EVENTS = 'select id from arcade_events where broadcast_at is null and starts_at <= (select app_now())';
// Also marks the events that ended before a worker could broadcast them; these are not broadcast.
const beginDue = statement<OneTimeEvent & { isOver: boolean }>(
  'begin_arcade_events',
  `update arcade_events set broadcast_at = app_now() where id = any(array(
     ${DUE_EVENTS} order by starts_at limit 100 for update skip locked))
   returning ${COLUMNS}, ends_at <= (select app_now()) as "isOver"`,
);

function broadcast(tx: Tx, { id, name, payload, startsAt, endsAt }: OneTimeEvent): void {
  tx.emit(arcadeEvent, { id, name, startsAt, endsAt, ...(payload === null ? {} : { payload }) });
}

/**
 * Stores a one-time event. Broadcasts it at once, or lets the job `beginScheduled` broadcast it when it begins.
 * @param payload free-form JSON; undefined for an event without a payload
 * @param startsAt start, ISO 8601; at once when it is undefined or in the past
 */
export async function beginOneTimeEvent(
  tx: Tx,
  { name, payload, durationSec, startsAt }: { name: string; payload?: unknown; durationSec: number; startsAt?: string | undefined },
): Promise<OneTimeEvent> {
  const json = payload === undefined ? null : JSON.stringify(payload);
  const [stored] = await tx.query(insertEvent, [newId(), name, json, durationSec, startsAt ?? null]);
  if (!stored) throw new Error('the event was not stored');
  const { isBegun, ...event } = stored;
  if (isBegun) broadcast(tx, event);
  return event;
}

/** Broadcasts the events whose start has come, each once, also when several workers run. */
export async function beginDueEvents(app: App): Promise<void> {
  await app.tx(async (tx) => {
    for (const { isOver, ...event } of await tx.query(beginDue)) if (!isOver) broadcast(tx, event);
  });
}

/** Reads a page of all one-time events, also scheduled and ended ones, the latest start first, and their number. */
export async function readOneTimeEvents(db: Queryable, limit: number, offset: number): Promise<{ events: OneTimeEvent[]; total: number }> {
  const [events, [count]] = await Promise.all([db.query(selectPage, [limit, offset]), db.query(countEvents)]);
  return { events, total: count?.total ?? 0 };
}

/**
 * Deletes a one-time event that has not begun.
 * @throws 404 when the event does not exist; 409 when it has begun
 */
export async function cancelOneTimeEvent(tx: Tx, id: string): Promise<void> {
  const cancelled = build.deleteFrom('arcade_events').where('id', '=', id).where('broadcast_at', 'is', null);
  if ((await run(tx, cancelled.returning('id'))).length > 0) return;
  const found = await run(tx, build.selectFrom('arcade_events').select('id').where('id', '=', id));
  throw found.length > 0 ? fail(409, 'the event has begun') : fail(404, 'there is no such event');
}

/** Lists the newest active one-time events, at most 50. */
export async function listOneTimeEvents(db: Queryable): Promise<OneTimeEvent[]> {
  return await db.query(selectActive);
}
