import { defineEntity } from '@mikro-orm/core';
import {
  bigint,
  boolean,
  byMonth,
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
import type { Tally } from './earnings.ts';
import { CarriedGamesTable, CarriedPointsTable, ClosedPartitionsTable, ClosedSumsTable, HistoryFilesTable } from './history/entities.ts';
import { QuestChecksTable } from './quest-check-entities.ts';

/**
 * A row is an activity: an action of a wallet, such as a burn, or an operator's decision about a wallet. The primary key prevents a second activity for the same
 * action. Plays have no rows here, and a score that was accepted at once has a row only if it names a battle. The rows of other plays and scores are their own
 * activities; their column `batch` has the id of the batch.
 */
export const ActivitiesTable = defineEntity({
  name: 'Activities',
  tableName: 'activities',
  properties: {
    /** Id of the action, such as the id of the score. */
    sourceId: byteText().primary(),
    kind: text().primary(),
    /** UTC day of the cause; 0 for a cause without a time. PostgreSQL computes it. */
    causeDay: integer().primary(),
    wallet: wallet(),
    /** Id of the game, or of the burn event; null for activities without one. */
    gameId: text().nullable(),
    /** Normalized value of a score (negative for a void), base units of a burn, 0 for other kinds. */
    amount: bigint().defaultRaw('0'),
    /** Battle for which a score was submitted; null for other activities. */
    battleId: uuid().nullable(),
    /** UTC day number of `at`. */
    day: integer(),
    at: timestamp(),
    /** Id of the batch in `activity_batches`, which is deleted when every consumer has processed it. */
    batch: bigint(),
  },
  partitionBy: byMonth('activities', 'causeDay'),
  indexes: [index('create index activities_wallet on activities (wallet, kind, day)')],
});

/** A row holds all activities that one transaction appended. It is deleted when every consumer has processed the batch. */
export const ActivityBatchesTable = defineEntity({
  name: 'ActivityBatches',
  tableName: 'activity_batches',
  properties: {
    id: bigint().primary(),
    /** One bit per consumer that has processed the batch: 1 = referrals, 2 = quests, 4 = battles. */
    consumed: smallint().default(0),
    /** Number of activities. */
    size: integer(),
    day: integer(),
    at: timestamp(),
    /** A list of [kind, source id, wallet, game, amount as text, battle]. */
    activities: json(),
  },
  checks: checks('size > 0'),
});

/** A row is an activity that a consumer could not process. Operators read this table. */
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

/** A row is a version of a standing that the board in Redis may not contain yet. It is deleted when the board contains this version. */
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

/** A row is a period that is closed: no transaction can add points to it any more. */
export const ClosedPeriodsTable = defineEntity({
  name: 'ClosedPeriods',
  tableName: 'closed_periods',
  properties: {
    period: oneOf('day', 'week', 'month', 'year').primary(),
    /** Number of the day, week, month or year; see `bucketOf`. */
    bucket: integer().primary(),
    closedAt: timestamp().defaultRaw('app_now()'),
    /** Time at which the final ranks were stored; null until then. */
    finalsAt: timestamp().nullable(),
  },
});

/** A row is the final place of a wallet on a board in a closed period. */
export const FinalsTable = defineEntity({
  name: 'Finals',
  tableName: 'finals',
  properties: {
    board: byteText().primary(),
    period: text().primary(),
    bucket: integer().primary(),
    /** Unique, also for equal values; the best wallet has 1. */
    position: integer().primary(),
    /** Equal for equal values. */
    rank: integer(),
    wallet: wallet(),
    /** Points, or the best normalized score. */
    value: bigint(),
  },
  indexes: [index('create unique index finals_wallet on finals (board, period, bucket, wallet)')],
});

/** A row is the sum of the final values of a board of points in a closed period. */
export const FinalSumsTable = defineEntity({
  name: 'FinalSums',
  tableName: 'final_sums',
  properties: {
    board: byteText().primary(),
    period: text().primary(),
    bucket: integer().primary(),
    points: bigint(),
  },
});

/**
 * A row is an amount of points that a wallet got or lost. Rows are never changed or deleted. The primary key prevents a second row for the same cause,
 * wallet, reason and mode.
 */
export const LedgerTable = defineEntity({
  name: 'Ledger',
  tableName: 'ledger',
  properties: {
    /** The cause is (`source`, `sourceId`): a score, the window of a quest, a conversion, or an adjustment by an operator. */
    sourceId: byteText().primary(),
    source: text().primary(),
    wallet: wallet().primary(),
    /** Why the row was written, such as `score` or `void`. */
    reason: text().primary(),
    mode: oneOf('regular', 'beta').primary(),
    /** UTC day of the cause; 0 for a cause without a time. PostgreSQL computes it. */
    causeDay: integer().primary(),
    /** Origin of the points. It decides which boards count them. */
    kind: oneOf('game', 'quest', 'referral', 'conversion', 'adjustment'),
    /** Negative when points are taken back. */
    points: bigint(),
    /** Whether reward epochs count the points. */
    rewards: boolean(),
    /** Values from which the points were computed. */
    factors: jsonb().nullable(),
    /** UTC day number of `at`. */
    day: integer(),
    at: timestamp(),
  },
  checks: checks('points <> 0'),
  partitionBy: byMonth('ledger', 'causeDay'),
  indexes: [
    index("create index ledger_adjustments on ledger (wallet, mode, day) include (points) where kind = 'adjustment'"),
    index("create index ledger_day on ledger using brin (day) with (pages_per_range='16')"),
    index("create index ledger_quests on ledger (wallet, at desc, source_id desc, reason desc, mode) where kind = 'quest' and source = 'quest'"),
    index('create index ledger_wallet on ledger (wallet, at desc)'),
  ],
  triggers: [
    trigger('create trigger ledger_append_only before delete or update on ledger for each row execute function refuse_change()'),
    trigger('create trigger ledger_no_truncate before truncate on ledger for each statement execute function refuse_change()'),
  ],
});

/** A row is a wallet that has signed in at least once. A transaction that records scores of a wallet locks the row. */
export const PlayersTable = defineEntity({
  name: 'Players',
  tableName: 'players',
  properties: {
    wallet: wallet().primary(),
    mode: oneOf('regular', 'beta').default('regular'),
    bannedAt: timestamp().nullable(),
    banReason: text().nullable(),
    /** Time at which the held scores of the banned wallet were rejected; null until then, and for a wallet without a ban. */
    scoresVoidedAt: timestamp().nullable(),
    /** UTC day number of the last day on which the wallet earned points from games, and these points: in all games, and by game id. */
    earnedDay: integer().default(0),
    earned: integer().default(0),
    earnedByGame: jsonb<Record<string, number>>().default('{}'),
    /** Number and points of the accepted scores, by mode and game id. */
    tally: jsonb<Tally>().default('{}'),
    /** Time of the last score that names a play; null before it. */
    lastScoreAt: timestamp().nullable(),
    /** Time by which the plays of the wallet, up to the last score, were longer than the time that passed, ms. */
    overlapMs: bigint().defaultRaw('0'),
    /** Sum of the beta points that the wallet has converted, and sum of the points that it got for them. */
    convertedBeta: bigint().defaultRaw('0'),
    convertedPoints: bigint().defaultRaw('0'),
    createdAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('converted_beta >= 0', 'converted_points >= 0', 'earned >= 0', 'overlap_ms >= 0'),
  indexes: [
    index('create index players_banned on players (banned_at) where banned_at is not null'),
    index('create index players_to_void on players (banned_at) where banned_at is not null and scores_voided_at is null'),
  ],
  triggers: [
    trigger(
      'create trigger players_hide_clips after update of banned_at on players for each row when (((old.banned_at is null) <> (new.banned_at is null))) execute function hide_clips()',
    ),
  ],
});

/**
 * A row is a part of the sum of the points of one day, mode and kind. Each sum is spread over several shards, so that concurrent transactions do not
 * wait for the same row.
 */
export const PointTotalsTable = defineEntity({
  name: 'PointTotals',
  tableName: 'point_totals',
  properties: {
    day: integer().primary(),
    shard: smallint().primary(),
    mode: text().primary(),
    kind: text().primary(),
    points: bigint(),
    /** Number of ledger rows. */
    entries: bigint(),
  },
});

/**
 * A row is the value of a wallet on a board: a sum of points, or the best normalized score on the board of a game. For each period the row has the
 * newest bucket with a value (such as `day`) and its value, and the bucket with a value before it (such as `dayBefore`).
 */
export const StandingsTable = defineEntity({
  name: 'Standings',
  tableName: 'standings',
  properties: {
    board: byteText().primary(),
    mode: text().primary(),
    wallet: wallet().primary(),
    /** Increases with each change. A board in Redis takes a value only when its version is newer. */
    version: bigint(),
    /** Value of all time. */
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
  CarriedGamesTable,
  CarriedPointsTable,
  ClosedPartitionsTable,
  ClosedPeriodsTable,
  ClosedSumsTable,
  FinalsTable,
  FinalSumsTable,
  HistoryFilesTable,
  LedgerTable,
  PlayersTable,
  PointTotalsTable,
  QuestChecksTable,
  StandingsTable,
] as const;
