import { defineEntity } from '@mikro-orm/core';
import { boolean, bytes, byteText, checks, index, integer, reference, text, timestamp, trigger, uuid, wallet } from '#platform/db/columns.ts';

/** A row is a WebAssembly simulation that a game can name. Rows are never changed, so each replay can be checked with the module of its play. */
export const SimulationsTable = defineEntity({
  name: 'Simulations',
  tableName: 'simulations',
  properties: {
    /** SHA-256 of `module`. */
    hash: bytes().primary(),
    /** SHA-256 of the module that was uploaded, before metering. */
    sourceHash: bytes(),
    /** The module with metering. */
    module: bytes(),
    ticksPerSecond: integer(),
    maxTicks: integer(),
    /** Instructions that a replay may execute on average per tick. */
    instructionsPerTick: integer(),
    /** Name of the admin token that uploaded the module. */
    by: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('octet_length(hash) = 32', 'octet_length(source_hash) = 32', 'ticks_per_second > 0', 'max_ticks > 0', 'instructions_per_tick > 0'),
  triggers: [
    trigger(
      'create trigger simulations_append_only before delete or update or truncate on simulations for each statement execute function refuse_change()',
    ),
  ],
});

/** A row is the seed of a play in a game that verifies scores by replay. */
export const PlaySeedsTable = defineEntity({
  name: 'PlaySeeds',
  tableName: 'play_seeds',
  properties: {
    playId: uuid().primary(),
    simulation: reference(SimulationsTable, 'simulation'),
    /** 16 random bytes that nobody knew before the play. */
    seed: bytes(),
  },
  checks: checks('octet_length(seed) = 16'),
});

/** A row is the input log of a recorded score. */
export const ScoreReplaysTable = defineEntity({
  name: 'ScoreReplays',
  tableName: 'score_replays',
  properties: {
    scoreId: uuid().primary(),
    playId: uuid(),
    log: bytes(),
    at: timestamp(),
    /** Whether the replay was old and stays for ever, because the score was a personal best. */
    kept: boolean().default(false),
  },
  indexes: [index('create index score_replays_at on score_replays (at) where not kept')],
});

/** A row counts the scores of a wallet on a day that differed from their replays, or whose replays broke a rule. */
export const ReplayRefusalsTable = defineEntity({
  name: 'ReplayRefusals',
  tableName: 'replay_refusals',
  properties: {
    wallet: wallet().primary(),
    gameId: byteText().primary(),
    /** UTC day, days since 1970-01-01. */
    day: integer().primary(),
    count: integer(),
    /** Reason of the latest refusal. */
    reason: text(),
  },
  checks: checks('count > 0'),
  indexes: [index('create index replay_refusals_day on replay_refusals (day desc, count desc, wallet)')],
});

/** Tables of replays. */
export const replayTables = [SimulationsTable, PlaySeedsTable, ScoreReplaysTable, ReplayRefusalsTable] as const;
