import type { EventCatalog } from '#platform/events/event.ts';
import { CabinetRow, GameRow } from './arcade/entities.ts';
import { arcadeEvents } from './arcade/events.ts';
import { scoreBroadcast } from './arcade/scores/broadcast.ts';
import { battleEvents } from './battles/events.ts';
import { burnEvents } from './burns/events.ts';
import { chatEvents } from './chat/events.ts';
import { roundEvents } from './lottery/events.ts';
import { payoutEvents } from './payouts/events.ts';
import { questEvents } from './quests/events.ts';
import { rewardEvents } from './rewards/events.ts';
import { socialEvents } from './social/events.ts';

/** Every MikroORM entity of the service. Tables of hot paths are written by SQL alone and have none. */
export const entities = [GameRow, CabinetRow];

/** Every event type of the service, registered with the platform. */
export const eventCatalog: EventCatalog = {
  types: new Map(
    [
      ...arcadeEvents,
      ...chatEvents,
      ...roundEvents,
      ...questEvents,
      ...battleEvents,
      ...burnEvents,
      ...rewardEvents,
      ...payoutEvents,
      ...socialEvents,
    ].map((type) => [type.type, type]),
  ),
  batched: scoreBroadcast(),
  resetLinks: { leaderboard: '/leaderboard/global', arcade: '/arcade/state' },
};
