import { defineEntity } from '@mikro-orm/core';
import {
  array,
  bigint,
  boolean,
  byMonth,
  bytes,
  checks,
  index,
  integer,
  oneOf,
  smallint,
  text,
  timestamp,
  trigger,
  uuid,
  wallet,
} from '#platform/db/columns.ts';

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
    /**
     * Upper bound of the plays without a score that the wallet had started within an hour when this play started, with this play. null = not known: the play is
     * of an earlier release.
     */
    unfinished: smallint().nullable(),
    /** Batch of activities that has the play. null: the play is of an earlier release, and its activity is a row of `activities`. */
    batch: bigint().nullable(),
  },
  partitionBy: byMonth('plays', 'id'),
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
    /** Batch of activities that has the score. null: the score was not accepted at once, or its activity is a row of `activities`. */
    batch: bigint().nullable(),
  },
  checks: checks('normalized >= 0 and normalized <= 10000', 'points >= 0'),
  partitionBy: byMonth('scores', 'id'),
  indexes: [
    index('create index scores_battle on scores (battle_id, wallet, normalized desc) where battle_id is not null'),
    index("create index scores_held on scores (at) where status = 'held'"),
    index("create index scores_held_wallet on scores (wallet) where status = 'held'"),
    index("create index scores_refused on scores (status, at, id) where status in ('rejected', 'voided')"),
    index('create index scores_wallet_game on scores (wallet, game_id, normalized, day, id)'),
  ],
  triggers: [
    trigger(
      'create trigger scores_keys after insert on scores referencing new table as inserted for each statement execute function insert_score_keys()',
    ),
  ],
});

/** A row says which score names a play, because a play gives at most one score. A trigger of `scores` inserts it. */
export const ScorePlaysTable = defineEntity({
  name: 'ScorePlays',
  tableName: 'score_plays',
  properties: {
    playId: uuid().primary(),
    scoreId: uuid(),
  },
  partitionBy: byMonth('score_plays', 'playId'),
});

/** A row says which score has an idempotency key of a wallet. A trigger of `scores` inserts it. */
export const ScoreKeysTable = defineEntity({
  name: 'ScoreKeys',
  tableName: 'score_keys',
  properties: {
    wallet: wallet().primary(),
    key: text().primary(),
    scoreId: uuid(),
  },
  indexes: [index('create index score_keys_score on score_keys using brin (score_id)')],
});

/** A row says that a void was undone. It holds the void, because the row of the score then holds the restoration in its place. */
export const ScoreRestorationsTable = defineEntity({
  name: 'ScoreRestorations',
  tableName: 'score_restorations',
  properties: {
    scoreId: uuid().primary(),
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

/** The tables of plays and scores. */
export const scoreTables = [PlaysTable, ScoresTable, ScorePlaysTable, ScoreKeysTable, ScoreRestorationsTable] as const;
