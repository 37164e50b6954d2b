import { defineEntity } from '@mikro-orm/core';
import {
  array,
  bigint,
  boolean,
  bytes,
  checks,
  index,
  integer,
  jsonb,
  oneOf,
  reference,
  smallint,
  text,
  timestamp,
  trigger,
  uuid,
  wallet,
} from '#platform/db/columns.ts';
import type { StoredDefinition } from './games/definition.ts';

/** A row is a one-time event that the arcade shows, such as an animation or an announcement. */
export const ArcadeEventsTable = defineEntity({
  name: 'ArcadeEvents',
  tableName: 'arcade_events',
  properties: {
    id: uuid().primary(),
    name: text(),
    /** Free-form JSON for front ends; null for an event without a payload. */
    payload: jsonb().nullable(),
    startsAt: timestamp(),
    endsAt: timestamp(),
    /** Time at which the event was broadcast; null for an event that begins later. */
    broadcastAt: timestamp().nullable(),
  },
  checks: checks('ends_at > starts_at'),
  indexes: [
    index('create index arcade_events_due on arcade_events (starts_at) where broadcast_at is null'),
    index('create index arcade_events_ends_at on arcade_events (ends_at)'),
    index('create index arcade_events_starts_at on arcade_events (starts_at desc, id desc)'),
  ],
});

/** A row is a change of the theme that waits for its start, or that could not be applied. An applied change is a version in `settings` instead. */
export const ScheduledThemesTable = defineEntity({
  name: 'ScheduledThemes',
  tableName: 'scheduled_themes',
  properties: {
    id: uuid().primary(),
    /** A JSON merge patch of the theme. */
    patch: jsonb<Record<string, unknown>>(),
    startsAt: timestamp(),
    /** Reason why the change could not be applied; null for a change that waits. */
    error: text().nullable(),
    /** Name of the admin token. */
    by: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index scheduled_themes_due on scheduled_themes (starts_at, id) where error is null')],
});

/** A row is a game with its current configuration. */
export const GamesTable = defineEntity({
  name: 'Games',
  tableName: 'games',
  properties: {
    id: text().primary(),
    /** Number of the current row in `game_versions`, from 1 on. */
    version: integer(),
    definition: jsonb<StoredDefinition>(),
    /** Key with which clients sign scores; null when the game accepts unsigned scores. */
    secret: text().nullable(),
    updatedAt: timestamp().defaultRaw('app_now()'),
  },
});

/** A row is a cabinet: a place in the arcade that shows one game. */
export const CabinetsTable = defineEntity({
  name: 'Cabinets',
  tableName: 'cabinets',
  properties: {
    id: text().primary(),
    gameId: reference(GamesTable, 'game_id'),
    /** Free-form JSON for front ends, such as the name and the position. */
    display: jsonb<Record<string, unknown>>(),
    /** Name of the entity that controls the cabinet; null in normal operation. */
    possessedBy: text().nullable(),
    /** Number of changes of the game and the display, from 1 on. */
    version: integer(),
    updatedAt: timestamp().defaultRaw('app_now()'),
  },
});

/** A row is a part of the totals of a game. The totals are the sums over all shards, so that concurrent transactions rarely lock the same row. */
export const GameCountersTable = defineEntity({
  name: 'GameCounters',
  tableName: 'game_counters',
  properties: {
    gameId: text().primary(),
    shard: smallint().primary(),
    /** Number of plays in regular mode: plays that wallets started in this mode, and scores in this mode without one of these plays. */
    plays: bigint().defaultRaw('0'),
    /** Number of rows in `game_players`. */
    players: bigint().defaultRaw('0'),
    /** Number of accepted scores in regular mode. */
    scores: bigint().defaultRaw('0'),
    /** Sum of the normalized values of these scores. */
    scoreSum: bigint().defaultRaw('0'),
  },
});

/** A row is a wallet with at least one play in regular mode in a game. */
export const GamePlayersTable = defineEntity({
  name: 'GamePlayers',
  tableName: 'game_players',
  properties: {
    gameId: text().primary(),
    wallet: wallet().primary(),
  },
});

export const GameRecordsTable = defineEntity({
  name: 'GameRecords',
  tableName: 'game_records',
  properties: {
    wallet: wallet().primary(),
    gameId: reference(GamesTable, 'game_id').primary(),
    sequence: integer().primary(),
    id: uuid(),
    /** Null when the record is erased. */
    salt: bytes().nullable(),
    /** Null when the record is erased. */
    record: jsonb().nullable(),
    contentHash: bytes(),
    previousHash: bytes(),
    hash: bytes(),
    at: timestamp(),
  },
  checks: checks('sequence > 0', 'octet_length(salt) = 32', '(salt is null) = (record is null)'),
  indexes: [
    index('create unique index game_records_id on game_records (id)'),
    // `id` is not the primary key of game_records, so game_record_erasures cannot declare this key with `reference`.
    { name: 'game_record_erasures_record', expression: 'alter table game_record_erasures add foreign key (record_id) references game_records (id)' },
  ],
  triggers: [
    trigger('create trigger game_records_guarded before update on game_records for each row execute function guard_game_record()'),
    trigger('create trigger game_records_kept before delete on game_records for each row execute function refuse_change()'),
    trigger('create trigger game_records_no_truncate before truncate on game_records for each statement execute function refuse_change()'),
  ],
});

/** A row says who erased the content of a game record, and why. The SQL function `erase_game_record` inserts it. */
export const GameRecordErasuresTable = defineEntity({
  name: 'GameRecordErasures',
  tableName: 'game_record_erasures',
  properties: {
    recordId: uuid().primary(),
    erasedBy: text(),
    reason: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("erased_by <> ''", "reason <> ''"),
  triggers: [
    trigger(
      'create trigger game_record_erasures_append_only before delete or update or truncate on game_record_erasures for each statement execute function refuse_change()',
    ),
  ],
});

/** A row is the state that a game saved for a wallet. */
export const GameStatesTable = defineEntity({
  name: 'GameStates',
  tableName: 'game_states',
  properties: {
    wallet: wallet().primary(),
    gameId: reference(GamesTable, 'game_id').primary(),
    /** JSON text, exactly as the client sent it. */
    state: text(),
    /** Number of saves, from 1 on. */
    version: integer(),
    updatedAt: timestamp().defaultRaw('app_now()'),
  },
});

/** A row is one version of the configuration of a game. Rows are never changed. */
export const GameVersionsTable = defineEntity({
  name: 'GameVersions',
  tableName: 'game_versions',
  properties: {
    gameId: reference(GamesTable, 'game_id').primary(),
    version: integer().primary(),
    definition: jsonb<StoredDefinition>(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

/** A row is a play: one run of a game by a wallet. Rows are never changed. A play is used when a score names it. */
export const PlaysTable = defineEntity({
  name: 'Plays',
  tableName: 'plays',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    gameId: text(),
    startedAt: timestamp(),
    /** Mode in which the wallet played when it started the play. */
    mode: oneOf('regular', 'beta').default('regular'),
  },
  indexes: [index('create index plays_wallet on plays (wallet, started_at desc) include (id)')],
});

/** A row is a score that the service recorded. Submissions that the service refused have no row. */
export const ScoresTable = defineEntity({
  name: 'Scores',
  tableName: 'scores',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    gameId: text(),
    /** Version of the game whose configuration evaluated the score. */
    gameVersion: integer(),
    /** The play that the score names; null only in a game without verification. */
    playId: uuid().nullable(),
    idempotencyKey: text().nullable(),
    /** SHA-256 of the fields of the request, so that a repeated request can be compared. */
    bodyHash: bytes(),
    /** The raw score that the client submitted. */
    score: bigint(),
    /** The score on the common scale from 0 to 10,000. */
    normalized: integer(),
    /** Points that the wallet received, after the daily caps; 0 for a score that was held or rejected. A void does not change this number. */
    points: integer(),
    /** Why an accepted score gave no points; null when it gave points, and for a score that was never accepted. */
    noPointsReason: oneOf('game-earns-nothing', 'low-score', 'game-cap', 'daily-cap').nullable(),
    /** Whether the score was the best of the wallet in the game when it was accepted. */
    personalBest: boolean(),
    /** held: a moderator must decide. rejected: a moderator refused a held score. voided: an accepted score was cancelled. */
    status: oneOf('accepted', 'held', 'rejected', 'voided'),
    /** Reasons why the score was held, and the reasons of later decisions. */
    reasons: array('text').defaultRaw("'{}'::text[]"),
    /** Mode in which the wallet played when the score was recorded. */
    mode: oneOf('regular', 'beta'),
    durationMs: integer().nullable(),
    /** The battle that the score names. */
    battleId: uuid().nullable(),
    /** UTC day on which the score counts, days since 1970-01-01. */
    day: integer(),
    at: timestamp(),
    /** Time of the last decision; null for a score without a decision. */
    decidedAt: timestamp().nullable(),
    /** Name of the admin token that decided; `ban` when a ban voided the score. */
    decidedBy: text().nullable(),
  },
  checks: checks('normalized >= 0 and normalized <= 10000', 'points >= 0'),
  indexes: [
    index('create index scores_battle on scores (battle_id, wallet, normalized desc) where battle_id is not null'),
    index("create index scores_held on scores (at) where status = 'held'"),
    index("create index scores_held_wallet on scores (wallet) where status = 'held'"),
    index('create unique index scores_idempotency on scores (wallet, idempotency_key) where idempotency_key is not null'),
    index("create index scores_refused on scores (status, at, id) where status in ('rejected', 'voided')"),
    index('create unique index scores_play on scores (play_id) where play_id is not null'),
    index('create index scores_wallet_game on scores (wallet, game_id, normalized, day, id)'),
  ],
});

/** A row says that a void was undone. It holds the void, because the row of the score then holds the restoration in its place. */
export const ScoreRestorationsTable = defineEntity({
  name: 'ScoreRestorations',
  tableName: 'score_restorations',
  properties: {
    scoreId: reference(ScoresTable, 'score_id').primary(),
    /** Points of the score before its void. */
    points: integer(),
    voidedAt: timestamp(),
    voidedBy: text(),
    restoredAt: timestamp(),
    restoredBy: text(),
    reason: text(),
  },
  checks: checks('points >= 0'),
});

/** Tables of this area. */
export const arcadeTables = [
  ArcadeEventsTable,
  ScheduledThemesTable,
  GamesTable,
  CabinetsTable,
  GameCountersTable,
  GamePlayersTable,
  GameRecordsTable,
  GameRecordErasuresTable,
  GameStatesTable,
  GameVersionsTable,
  PlaysTable,
  ScoresTable,
  ScoreRestorationsTable,
] as const;
