import type { App, GaugeReader } from '#platform/app.ts';
import { platformTables } from '#platform/db/entities.ts';
import type { EventCatalog, EventType } from '#platform/events/event.ts';
import { storageGauges } from '#platform/quotas/gauges.ts';
import { adminTables } from './admin/entities.ts';
import { adminEvents } from './admin/events.ts';
import { appealsTables } from './appeals/entities.ts';
import { arcadeTables, CabinetsTable, GamesTable } from './arcade/entities.ts';
import { arcadeEvents } from './arcade/events.ts';
import { replayTables } from './arcade/replays/entities.ts';
import { saveTables } from './arcade/saves/entities.ts';
import { scoreEvents } from './arcade/scores/broadcast.ts';
import { authTables } from './auth/entities.ts';
import { battlesTables } from './battles/entities.ts';
import { battleEvents } from './battles/events.ts';
import { burnsTables } from './burns/entities.ts';
import { burnEvents } from './burns/events.ts';
import { chatTables } from './chat/entities.ts';
import { chatEvents } from './chat/events.ts';
import { clipsTables } from './clips/entities.ts';
import { lotteryTables } from './lottery/entities.ts';
import { roundEvents } from './lottery/events.ts';
import { roundGauges } from './lottery/gauges.ts';
import { ticketPaymentTables } from './lottery/legacy/entities.ts';
import { restrictionTables } from './lottery/restrictions/entities.ts';
import { denyListGauges } from './lottery/restrictions/gauges.ts';
import { balanceGauges } from './lottery/treasury-gauges.ts';
import { payoutsTables } from './payouts/entities.ts';
import { payoutEvents } from './payouts/events.ts';
import { payoutGauges } from './payouts/gauges.ts';
import { pointsTables } from './points/entities.ts';
import { pointsGauges } from './points/gauges.ts';
import { historyGauges } from './points/history/gauges.ts';
import { privacyTables } from './privacy/entities.ts';
import { profileTables } from './profile/entities.ts';
import { questsTables } from './quests/entities.ts';
import { questEvents } from './quests/events.ts';
import { referralsTables } from './referrals/entities.ts';
import { referralEvents } from './referrals/events.ts';
import { rewardsTables } from './rewards/entities.ts';
import { rewardEvents } from './rewards/events.ts';
import { distributorGauges, epochGauges } from './rewards/gauges.ts';
import { socialTables } from './social/entities.ts';
import { socialEvents } from './social/events.ts';
import { walletsTables } from './wallets/entities.ts';

/** Every table of the service, as MikroORM entities. A test compares them with the tables that the migrations create. */
export const entities = [
  ...platformTables,
  ...adminTables,
  ...appealsTables,
  ...arcadeTables,
  ...replayTables,
  ...saveTables,
  ...authTables,
  ...battlesTables,
  ...burnsTables,
  ...chatTables,
  ...clipsTables,
  ...lotteryTables,
  ...restrictionTables,
  ...ticketPaymentTables,
  ...payoutsTables,
  ...pointsTables,
  ...privacyTables,
  ...profileTables,
  ...questsTables,
  ...referralsTables,
  ...rewardsTables,
  ...socialTables,
  ...walletsTables,
];

/** The entities that the EntityManager loads. A process discovers only these, because the discovery of all entities takes 150 ms. */
export const managed = [GamesTable, CabinetsTable];

/** Every event type of the service, by its type on the wire. */
export const eventTypes: ReadonlyMap<string, EventType> = new Map(
  [
    ...adminEvents,
    ...arcadeEvents,
    ...chatEvents,
    ...roundEvents,
    ...questEvents,
    ...battleEvents,
    ...referralEvents,
    ...burnEvents,
    ...rewardEvents,
    ...payoutEvents,
    ...socialEvents,
  ].map((event) => [event.type, event]),
);

/** Paths by name. After the event `reset`, a client must read the state again from these paths. */
export const RESET_LINKS = { leaderboard: '/leaderboard/global', arcade: '/arcade/state' } as const;

/** Returns the event types of the service in the form that the publisher in src/platform/events needs. */
export const eventCatalog = (app: App): EventCatalog => ({ types: eventTypes, batched: scoreEvents(app), resetLinks: RESET_LINKS });

/** Every reader of gauges that reads the database or the chain. */
export const gauges: readonly GaugeReader[] = [
  pointsGauges,
  historyGauges,
  payoutGauges,
  balanceGauges,
  roundGauges,
  denyListGauges,
  epochGauges,
  distributorGauges,
  storageGauges,
];
