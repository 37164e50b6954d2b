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
import type { GameDefinition } from './games/definition.ts';

export const ArcadeEventsTable = defineEntity({
  name: 'ArcadeEvents',
  tableName: 'arcade_events',
  properties: {
    id: uuid().primary(),
    name: text(),
    payload: jsonb().nullable(),
    startsAt: timestamp(),
    endsAt: timestamp(),
  },
  checks: checks('ends_at > starts_at'),
  indexes: [index('create index arcade_events_ends_at on arcade_events (ends_at)')],
});

export const GamesTable = defineEntity({
  name: 'Games',
  tableName: 'games',
  properties: {
    id: text().primary(),
    version: integer(),
    definition: jsonb<GameDefinition>(),
    secret: text().nullable(),
    updatedAt: timestamp().defaultRaw('app_now()'),
  },
});

export const CabinetsTable = defineEntity({
  name: 'Cabinets',
  tableName: 'cabinets',
  properties: {
    id: text().primary(),
    gameId: reference(GamesTable, 'game_id'),
    display: jsonb<Record<string, unknown>>(),
    possessedBy: text().nullable(),
    version: integer(),
    updatedAt: timestamp().defaultRaw('app_now()'),
  },
});

export const GameCountersTable = defineEntity({
  name: 'GameCounters',
  tableName: 'game_counters',
  properties: {
    gameId: text().primary(),
    shard: smallint().primary(),
    plays: bigint().defaultRaw('0'),
    scores: bigint().defaultRaw('0'),
    scoreSum: bigint().defaultRaw('0'),
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
    record: jsonb(),
    previousHash: bytes(),
    hash: bytes(),
    at: timestamp(),
  },
  checks: checks('sequence > 0'),
  uniques: [{ name: 'game_records_id_key', properties: ['id'] }],
  triggers: [
    trigger('create trigger game_records_append_only before delete or update on game_records for each row execute function refuse_change()'),
    trigger('create trigger game_records_no_truncate before truncate on game_records for each statement execute function refuse_change()'),
  ],
});

export const GameStatesTable = defineEntity({
  name: 'GameStates',
  tableName: 'game_states',
  properties: {
    wallet: wallet().primary(),
    gameId: reference(GamesTable, 'game_id').primary(),
    state: jsonb(),
    version: integer(),
    updatedAt: timestamp().defaultRaw('app_now()'),
  },
});

export const GameVersionsTable = defineEntity({
  name: 'GameVersions',
  tableName: 'game_versions',
  properties: {
    gameId: reference(GamesTable, 'game_id').primary(),
    version: integer().primary(),
    definition: jsonb<GameDefinition>(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

export const PlaysTable = defineEntity({
  name: 'Plays',
  tableName: 'plays',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    gameId: text(),
    startedAt: timestamp(),
  },
  indexes: [index('create index plays_wallet on plays (wallet, started_at desc) include (id)')],
});

export const ScoresTable = defineEntity({
  name: 'Scores',
  tableName: 'scores',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    gameId: text(),
    gameVersion: integer(),
    playId: uuid().nullable(),
    idempotencyKey: text().nullable(),
    bodyHash: bytes(),
    score: bigint(),
    normalized: integer(),
    points: integer(),
    personalBest: boolean(),
    status: oneOf('accepted', 'held', 'rejected', 'voided'),
    reasons: array('text').defaultRaw("'{}'::text[]"),
    mode: oneOf('regular', 'beta'),
    durationMs: integer().nullable(),
    battleId: uuid().nullable(),
    day: integer(),
    at: timestamp(),
    decidedAt: timestamp().nullable(),
    decidedBy: text().nullable(),
  },
  checks: checks('normalized >= 0 and normalized <= 10000', 'points >= 0'),
  indexes: [
    index('create index scores_battle on scores (battle_id, wallet, normalized desc) where battle_id is not null'),
    index("create index scores_held on scores (at) where status = 'held'"),
    index('create unique index scores_idempotency on scores (wallet, idempotency_key) where idempotency_key is not null'),
    index('create unique index scores_play on scores (play_id) where play_id is not null'),
    index('create index scores_wallet_game on scores (wallet, game_id)'),
  ],
});

/** Tables of this area. */
export const arcadeTables = [
  ArcadeEventsTable,
  GamesTable,
  CabinetsTable,
  GameCountersTable,
  GameRecordsTable,
  GameStatesTable,
  GameVersionsTable,
  PlaysTable,
  ScoresTable,
] as const;
