import { listOneTimeEvents } from '#areas/arcade';
import { readActiveEvent } from '#areas/burns';
import { listOpenChatRounds } from '#areas/lottery';
import type { Queryable } from '#platform/db/sql.ts';
import type { ActiveEvent } from './schemas.ts';

/** Lists the active events: the chat rounds that are not drawn yet, the burn event, and at most 50 one-time events. */
export async function listActiveEvents(db: Queryable): Promise<ActiveEvent[]> {
  const [rounds, burn, oneTime] = await Promise.all([listOpenChatRounds(db), readActiveEvent(db), listOneTimeEvents(db)]);
  const events: ActiveEvent[] = rounds.map(({ id, state, title, opensAt, closesAt }) => ({
    ...{ type: 'chat_round', id, title, status: state, startsAt: opensAt, endsAt: closesAt },
  }));
  if (burn?.activatedAt) {
    events.push({ type: 'burn_event', id: burn.id, title: burn.title, startsAt: burn.activatedAt, endsAt: burn.endsAt });
  }
  for (const { name, payload, ...event } of oneTime) {
    events.push({ type: 'arcade_event', ...event, title: name, ...(payload === null ? {} : { payload }) });
  }
  return events;
}
