import { fail } from '#lib/errors.ts';
import { Id } from '#lib/scalars.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { BurnEventView } from './schemas.ts';

/** A burn event as the record has it. Times are ISO 8601 in UTC, amounts base units as text. */
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

/** It is over when its time is, also before anybody has said so. */
export const COLUMNS = `id::text, title, description, mint, duration_sec as "durationSec", created_by as "createdBy",
  case when state = 'active' and ends_at <= app_now() then 'ended' else state end as status, ${instant('created_at')} as "createdAt",
  ${instant('activated_at')} as "activatedAt", ${instant('ends_at')} as "endsAt", final_at is not null as final, participants,
  burned::text, referral::text, game::text, social::text`;

const selectEvent = statement<BurnEventRow>('select_burn_event', `select ${COLUMNS} from burn_events where id = $1`);
const lockEvent = statement<BurnEventRow>('lock_burn_event', `select ${COLUMNS} from burn_events where id = $1 for no key update`);
const selectActive = statement<BurnEventRow>(
  'select_active_burn_event',
  `select ${COLUMNS} from burn_events where state = 'active' and ends_at > app_now()`,
);
const selectBegun = statement<BurnEventRow>(
  'select_begun_burn_events',
  `select ${COLUMNS} from burn_events where state <> 'pending' order by activated_at desc limit $1 offset $2`,
);
const countBegun = statement<{ n: number }>('count_begun_burn_events', `select count(*)::int as n from burn_events where state <> 'pending'`);

/**
 * Reads an event.
 * @param lock holds it until the transaction ends
 * @throws 404 where there is none
 */
export async function readEvent(db: Queryable, id: string, { lock = false } = {}): Promise<BurnEventRow> {
  const [event] = Id.safeParse(id).success ? await db.query(lock ? lockEvent : selectEvent, [id]) : [];
  if (!event) throw fail(404, 'there is no such burn event');
  return event;
}

/** The event that burns count for now; null where there is none. */
export const readActive = async (db: Queryable): Promise<BurnEventRow | null> => (await db.query(selectActive))[0] ?? null;

/** Events that are active or were, the newest first. */
export async function readBegun(db: Queryable, limit: number, offset: number): Promise<{ events: BurnEventRow[]; total: number }> {
  const [events, [count]] = await Promise.all([db.query(selectBegun, [limit, offset]), db.query(countBegun)]);
  return { events, total: count?.n ?? 0 };
}

/** An event as it is shown. */
export function presentEvent({ burned, referral, game, social, ...event }: BurnEventRow): BurnEventView {
  const memo = (source: string) => `burn:${event.id}:${source}`;
  return {
    ...event,
    memos: { referral: memo('referral'), game: memo('game'), social: memo('social') },
    burnTotal: burned,
    bySource: { referral, game, social },
  };
}
