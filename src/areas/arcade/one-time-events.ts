import { newId } from '#lib/ids.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { arcadeEvent } from './events.ts';

/** Something that happens in the arcade once: an animation, an announcement. */
export interface OneTimeEvent {
  id: string;
  name: string;
  /** Free-form; null where there is none. */
  payload: unknown;
  /** ISO 8601 in UTC. */
  startsAt: string;
  endsAt: string;
}

/** How many of those that go on are listed: the newest. */
const MOST_LISTED = 50;

const COLUMNS = `id::text, name, payload, ${instant('starts_at')} as "startsAt", ${instant('ends_at')} as "endsAt"`;

const insertEvent = statement<OneTimeEvent>(
  'insert_arcade_event',
  `with clock as materialized (select app_now() as now)
   insert into arcade_events (id, name, payload, starts_at, ends_at)
   select $1, $2, $3::jsonb, now, now + make_interval(secs => $4::int) from clock returning ${COLUMNS}`,
);
const selectGoingOn = statement<OneTimeEvent>(
  'select_arcade_events',
  `select ${COLUMNS} from arcade_events where ends_at > (select app_now()) order by starts_at desc, id desc limit ${MOST_LISTED}`,
);

/**
 * Begins a one-time event, and tells everybody.
 * @param payload undefined for none
 */
export async function beginOneTimeEvent(
  tx: Tx,
  { name, payload, durationSec }: { name: string; payload?: unknown; durationSec: number },
): Promise<OneTimeEvent> {
  const [event] = await tx.query(insertEvent, [newId(), name, payload === undefined ? null : JSON.stringify(payload), durationSec]);
  if (!event) throw new Error('the event was not stored');
  const { id, startsAt, endsAt } = event;
  tx.emit(arcadeEvent, { id, name, startsAt, endsAt, ...(payload === undefined ? {} : { payload }) });
  return event;
}

/** One-time events that go on, newest first, a bounded number of them. */
export async function listOneTimeEvents(db: Queryable): Promise<OneTimeEvent[]> {
  return await db.query(selectGoingOn);
}
