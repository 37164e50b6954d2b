import { listOneTimeEvents } from '#areas/arcade';
import { readActiveEvent } from '#areas/burns';
import { readActiveChatRound } from '#areas/lottery';
import type { Queryable } from '#platform/db/sql.ts';
import type { ActiveEvent } from './schemas.ts';

/** Lists the active events: the chat round, the burn event, and at most 50 one-time events. */
export async function listActiveEvents(db: Queryable): Promise<ActiveEvent[]> {
  const [round, burn, oneTime] = await Promise.all([readActiveChatRound(db), readActiveEvent(db), listOneTimeEvents(db)]);
  const events: ActiveEvent[] = [];
  if (round?.opensAt) {
    events.push({ type: 'chat_round', id: round.id, title: round.title ?? '', startsAt: round.opensAt, endsAt: round.closesAt });
  }
  if (burn?.activatedAt) {
    events.push({ type: 'burn_event', id: burn.id, title: burn.title, startsAt: burn.activatedAt, endsAt: burn.endsAt });
  }
  for (const { name, payload, ...event } of oneTime) {
    events.push({ type: 'arcade_event', ...event, title: name, ...(payload === null ? {} : { payload }) });
  }
  return events;
}
