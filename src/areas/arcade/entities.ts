import { defineEntity } from '@mikro-orm/core';
import { bigint, checks, index, integer, jsonb, reference, smallint, text, timestamp, uuid, wallet } from '#platform/db/columns.ts';
import type { StoredDefinition } from './games/definition.ts';
import { scoreTables } from './score-entities.ts';

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

/** Tables of this area. */
export const arcadeTables = [
  ArcadeEventsTable,
  ScheduledThemesTable,
  GamesTable,
  CabinetsTable,
  GameCountersTable,
  GamePlayersTable,
  GameVersionsTable,
  ...scoreTables,
] as const;
