import { defineEntity } from '@mikro-orm/core';
import {
  bigint,
  boolean,
  byteText,
  checks,
  index,
  integer,
  json,
  jsonb,
  oneOf,
  smallint,
  text,
  timestamp,
  trigger,
  uuid,
  wallet,
} from '#platform/db/columns.ts';

export const ActivitiesTable = defineEntity({
  name: 'Activities',
  tableName: 'activities',
  properties: {
    sourceId: byteText().primary(),
    kind: text().primary(),
    wallet: wallet(),
    gameId: text().nullable(),
    amount: bigint().defaultRaw('0'),
    battleId: uuid().nullable(),
    day: integer(),
    at: timestamp(),
    batch: bigint(),
  },
  indexes: [index('create index activities_wallet on activities (wallet, kind, day)')],
});

export const ActivityBatchesTable = defineEntity({
  name: 'ActivityBatches',
  tableName: 'activity_batches',
  properties: {
    id: bigint().primary(),
    consumed: smallint().default(0),
    size: integer(),
    day: integer(),
    at: timestamp(),
    activities: json(),
  },
  checks: checks('size > 0'),
});

export const ActivityFailuresTable = defineEntity({
  name: 'ActivityFailures',
  tableName: 'activity_failures',
  properties: {
    consumer: text().primary(),
    kind: text().primary(),
    sourceId: byteText().primary(),
    error: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

export const BoardRefreshesTable = defineEntity({
  name: 'BoardRefreshes',
  tableName: 'board_refreshes',
  properties: {
    board: byteText().primary(),
    wallet: wallet().primary(),
    version: bigint().primary(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

export const ClosedPeriodsTable = defineEntity({
  name: 'ClosedPeriods',
  tableName: 'closed_periods',
  properties: {
    period: oneOf('day', 'week', 'month', 'year').primary(),
    bucket: integer().primary(),
    closedAt: timestamp().defaultRaw('app_now()'),
    finalsAt: timestamp().nullable(),
  },
});

export const FinalsTable = defineEntity({
  name: 'Finals',
  tableName: 'finals',
  properties: {
    board: byteText().primary(),
    period: text().primary(),
    bucket: integer().primary(),
    position: integer().primary(),
    rank: integer(),
    wallet: wallet(),
    value: bigint(),
  },
  indexes: [index('create unique index finals_wallet on finals (board, period, bucket, wallet)')],
});

export const LedgerTable = defineEntity({
  name: 'Ledger',
  tableName: 'ledger',
  properties: {
    sourceId: byteText().primary(),
    source: text().primary(),
    wallet: wallet().primary(),
    reason: text().primary(),
    mode: oneOf('regular', 'beta').primary(),
    kind: oneOf('game', 'quest', 'referral', 'conversion'),
    points: bigint(),
    rewards: boolean(),
    factors: jsonb().nullable(),
    day: integer(),
    at: timestamp(),
  },
  checks: checks('points <> 0'),
  indexes: [
    index("create index ledger_day on ledger using brin (day) with (pages_per_range='16')"),
    index("create index ledger_quests on ledger (wallet, at desc, source_id desc) where kind = 'quest' and source = 'quest'"),
    index('create index ledger_wallet on ledger (wallet, at desc)'),
  ],
  triggers: [
    trigger('create trigger ledger_append_only before delete or update on ledger for each row execute function refuse_change()'),
    trigger('create trigger ledger_no_truncate before truncate on ledger for each statement execute function refuse_change()'),
  ],
});

export const PlayersTable = defineEntity({
  name: 'Players',
  tableName: 'players',
  properties: {
    wallet: wallet().primary(),
    mode: oneOf('regular', 'beta').default('regular'),
    bannedAt: timestamp().nullable(),
    banReason: text().nullable(),
    scoresVoidedAt: timestamp().nullable(),
    earnedDay: integer().default(0),
    earned: integer().default(0),
    earnedByGame: jsonb().default('{}'),
    tally: jsonb().default('{}'),
    convertedBeta: bigint().defaultRaw('0'),
    convertedPoints: bigint().defaultRaw('0'),
    createdAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('converted_beta >= 0', 'converted_points >= 0', 'earned >= 0'),
  indexes: [index('create index players_to_void on players (banned_at) where banned_at is not null and scores_voided_at is null')],
  triggers: [
    trigger(
      'create trigger players_hide_clips after update of banned_at on players for each row when (((old.banned_at is null) <> (new.banned_at is null))) execute function hide_clips()',
    ),
  ],
});

export const PointTotalsTable = defineEntity({
  name: 'PointTotals',
  tableName: 'point_totals',
  properties: {
    day: integer().primary(),
    shard: smallint().primary(),
    mode: text().primary(),
    kind: text().primary(),
    points: bigint(),
    entries: bigint(),
  },
});

export const StandingsTable = defineEntity({
  name: 'Standings',
  tableName: 'standings',
  properties: {
    board: byteText().primary(),
    mode: text().primary(),
    wallet: wallet().primary(),
    version: bigint(),
    total: bigint(),
    day: integer(),
    dayValue: bigint(),
    dayBefore: integer().nullable(),
    dayBeforeValue: bigint().nullable(),
    week: integer(),
    weekValue: bigint(),
    weekBefore: integer().nullable(),
    weekBeforeValue: bigint().nullable(),
    month: integer(),
    monthValue: bigint(),
    monthBefore: integer().nullable(),
    monthBeforeValue: bigint().nullable(),
    year: integer(),
    yearValue: bigint(),
    yearBefore: integer().nullable(),
    yearBeforeValue: bigint().nullable(),
  },
});

/** Tables of this area. */
export const pointsTables = [
  ActivitiesTable,
  ActivityBatchesTable,
  ActivityFailuresTable,
  BoardRefreshesTable,
  ClosedPeriodsTable,
  FinalsTable,
  LedgerTable,
  PlayersTable,
  PointTotalsTable,
  StandingsTable,
] as const;
