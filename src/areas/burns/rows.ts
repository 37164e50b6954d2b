import { type InferResult, sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import { isoInstant, placeholder, prepared, queryBuilder, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { BurnEventsTable } from './entities.ts';
import type { BurnEventView, BurnSource } from './schemas.ts';

/** Builds queries of `burn_events`. */
export const build = queryBuilder([BurnEventsTable]);

/** The columns of a BurnEventRow. From `ends_at` on, `status` is `ended`, even if no worker has updated the row yet. */
export const EVENT_COLUMNS = [
  ...(['id', 'title', 'description', 'mint', 'duration_sec as durationSec', 'created_by as createdBy'] as const),
  sql<BurnEventView['status']>`case when state = 'active' and ends_at <= (select app_now()) then 'ended' else state end`.as('status'),
  isoInstant('created_at').as('createdAt'),
  isoInstant<string | null>('activated_at').as('activatedAt'),
  isoInstant<string | null>('ends_at').as('endsAt'),
  sql<boolean>`final_at is not null`.as('final'),
  ...(['participants', 'burned', 'referral', 'game', 'social'] as const),
] as const;
const events = build.selectFrom('burn_events').select(EVENT_COLUMNS);

/** A row of `burn_events`. Times are ISO 8601 in UTC; amounts are base units, as strings. */
export type BurnEventRow = InferResult<typeof events>[number];

// Named, because clients poll these reads while an event is active. The builder writes their text, so that the columns are listed only once.
const selectEvent = prepared('select_burn_event', events.where('id', '=', placeholder<string>(1)));
const selectActive = prepared(
  'select_active_burn_event',
  events.where('state', '=', 'active').where('ends_at', '>', sql<string>`(select app_now())`),
);

const eventNotFound = () => fail(404, 'there is no such burn event');

/**
 * Reads an event.
 * @param lock true locks the row until the transaction ends
 * @throws 404 when the event does not exist
 */
export async function readEvent(db: Queryable, id: string, { lock = false } = {}): Promise<BurnEventRow> {
  const [event] = lock ? await run(db, events.where('id', '=', id).forNoKeyUpdate()) : await db.query(selectEvent, [id]);
  if (!event) throw eventNotFound();
  return event;
}

/** Reads the active event; null when no event is active. */
export const readActiveEvent = async (db: Queryable): Promise<BurnEventRow | null> => (await db.query(selectActive))[0] ?? null;

/** Reads a page of the active and ended events, newest first, and the number of all of them. */
export async function listStartedEvents(db: Queryable, limit: number, offset: number): Promise<{ events: BurnEventRow[]; total: number }> {
  const page = events.where('state', '<>', 'pending').orderBy('activated_at', 'desc').limit(limit).offset(offset);
  const count = build
    .selectFrom('burn_events')
    .select(({ cast, fn }) => cast<number>(fn.countAll(), 'integer').as('n'))
    .where('state', '<>', 'pending');
  const [started, [counted]] = await Promise.all([run(db, page), run(db, count)]);
  return { events: started, total: counted?.n ?? 0 };
}

/** Returns the memo that a burn for an event must have. */
export const burnMemo = (event: string, source: BurnSource): string => `burn:${event}:${source}`;

/** Converts a row into the public view. */
export function presentEvent({ burned, referral, game, social, ...event }: BurnEventRow): BurnEventView {
  const memo = (source: BurnSource) => burnMemo(event.id, source);
  return {
    ...event,
    memos: { referral: memo('referral'), game: memo('game'), social: memo('social') },
    burnTotal: burned,
    bySource: { referral, game, social },
  };
}
