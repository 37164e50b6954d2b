import { fail } from '#lib/errors.ts';
import { Id } from '#lib/scalars.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { BurnEventView } from './schemas.ts';

/** A row of `burn_events`. Times are ISO 8601 in UTC; amounts are base units, as strings. */
export interface BurnEventRow {
  id: string;
  title: string;
  description: string | null;
  mint: string;
  durationSec: number;
  createdBy: string;
  status: 'pending' | 'active' | 'ended';
  createdAt: string;
  activatedAt: string | null;
  endsAt: string | null;
  final: boolean;
  participants: number;
  burned: string;
  referral: string;
  game: string;
  social: string;
}

/** SQL: the columns of a BurnEventRow. From `ends_at` on, `status` is `ended`, even if no worker has updated the row yet. */
export const EVENT_COLUMNS = `id::text, title, description, mint, duration_sec as "durationSec", created_by as "createdBy",
  case when state = 'active' and ends_at <= app_now() then 'ended' else state end as status, ${instant('created_at')} as "createdAt",
  ${instant('activated_at')} as "activatedAt", ${instant('ends_at')} as "endsAt", final_at is not null as final, participants,
  burned::text, referral::text, game::text, social::text`;

const selectEvent = statement<BurnEventRow>('select_burn_event', `select ${EVENT_COLUMNS} from burn_events where id = $1`);
const lockEvent = statement<BurnEventRow>('lock_burn_event', `select ${EVENT_COLUMNS} from burn_events where id = $1 for no key update`);
const selectActive = statement<BurnEventRow>(
  'select_active_burn_event',
  `select ${EVENT_COLUMNS} from burn_events where state = 'active' and ends_at > app_now()`,
);
const selectStarted = statement<BurnEventRow>(
  'select_started_burn_events',
  `select ${EVENT_COLUMNS} from burn_events where state <> 'pending' order by activated_at desc limit $1 offset $2`,
);
const countStarted = statement<{ n: number }>('count_started_burn_events', `select count(*)::int as n from burn_events where state <> 'pending'`);

/**
 * Reads an event.
 * @param lock true locks the row until the transaction ends
 * @throws 404 when the event does not exist
 */
export async function readEvent(db: Queryable, id: string, { lock = false } = {}): Promise<BurnEventRow> {
  const [event] = Id.safeParse(id).success ? await db.query(lock ? lockEvent : selectEvent, [id]) : [];
  if (!event) throw fail(404, 'there is no such burn event');
  return event;
}

/** Reads the active event; null when no event is active. */
export const readActiveEvent = async (db: Queryable): Promise<BurnEventRow | null> => (await db.query(selectActive))[0] ?? null;

/** Reads a page of the active and ended events, newest first, and the number of all of them. */
export async function listStartedEvents(db: Queryable, limit: number, offset: number): Promise<{ events: BurnEventRow[]; total: number }> {
  const [events, [count]] = await Promise.all([db.query(selectStarted, [limit, offset]), db.query(countStarted)]);
  return { events, total: count?.n ?? 0 };
}

/** Converts a row into the public view. */
export function presentEvent({ burned, referral, game, social, ...event }: BurnEventRow): BurnEventView {
  const memo = (source: string) => `burn:${event.id}:${source}`;
  return {
    ...event,
    memos: { referral: memo('referral'), game: memo('game'), social: memo('social') },
    burnTotal: burned,
    bySource: { referral, game, social },
  };
}
