import { newId } from '#lib/ids.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
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

const insertEvent = statement<OneTimeEvent>(
  'insert_arcade_event',
  `with clock as materialized (select app_now() as now)
   insert into arcade_events (id, name, payload, starts_at, ends_at)
   select $1, $2, $3::jsonb, now, now + make_interval(secs => $4::int) from clock returning ${COLUMNS}`,
);
const selectActive = statement<OneTimeEvent>(
  'select_arcade_events',
  `select ${COLUMNS} from arcade_events where ends_at > (select app_now()) order by starts_at desc, id desc limit ${MAX_LISTED}`,
);

/**
 * Starts a one-time event and broadcasts it.
 * @param payload free-form JSON; undefined for an event without a payload
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

/** Lists the newest active one-time events, at most 50. */
export async function listOneTimeEvents(db: Queryable): Promise<OneTimeEvent[]> {
  return await db.query(selectActive);
}
