import type { Queryable } from '../../db/sql.ts';
import { listOneTimeEvents } from '../arcade/arcade.ts';
import { readActive } from '../burns/burns.ts';
import { readActiveChatRound } from '../lottery/lottery.ts';
import type { ActiveEvent } from './schema.ts';

/** What goes on now, all of it bounded. */
export async function listGoingOn(db: Queryable): Promise<ActiveEvent[]> {
  const [round, burn, oneTime] = await Promise.all([readActiveChatRound(db), readActive(db), listOneTimeEvents(db)]);
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
