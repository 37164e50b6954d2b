import type { App, GaugeReader } from '#platform/app.ts';
import type { EventCatalog, EventType } from '#platform/events/event.ts';
import { CabinetRow, GameRow } from './arcade/entities.ts';
import { arcadeEvents } from './arcade/events.ts';
import { scoreBroadcast } from './arcade/scores/broadcast.ts';
import { battleEvents } from './battles/events.ts';
import { burnEvents } from './burns/events.ts';
import { chatEvents } from './chat/events.ts';
import { roundEvents } from './lottery/events.ts';
import { roundGauges } from './lottery/gauges.ts';
import { balanceGauges } from './lottery/treasury-gauges.ts';
import { payoutEvents } from './payouts/events.ts';
import { payoutGauges } from './payouts/gauges.ts';
import { pointsGauges } from './points/gauges.ts';
import { questEvents } from './quests/events.ts';
import { rewardEvents } from './rewards/events.ts';
import { epochGauges } from './rewards/gauges.ts';
import { socialEvents } from './social/events.ts';

/** Every MikroORM entity of the service. Tables that are written often have no entity; SQL statements write them directly. */
export const entities = [GameRow, CabinetRow];

/** Every event type of the service, by its type on the wire. */
export const eventTypes: ReadonlyMap<string, EventType> = new Map(
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
  ].map((event) => [event.type, event]),
);

/** Paths by name. After the event `reset`, a client must read the state again from these paths. */
export const RESET_LINKS = { leaderboard: '/leaderboard/global', arcade: '/arcade/state' } as const;

/** Returns the event types of the service in the form that the publisher in src/platform/events needs. */
export const eventCatalog = (app: App): EventCatalog => ({ types: eventTypes, batched: scoreBroadcast(app), resetLinks: RESET_LINKS });

/** Every reader of gauges that an area adds to the metrics of the service. */
export const gauges: readonly GaugeReader[] = [pointsGauges, payoutGauges, balanceGauges, roundGauges, epochGauges];
