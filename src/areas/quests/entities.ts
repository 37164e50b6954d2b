import { defineEntity } from '@mikro-orm/core';
import { array, byteText, checks, index, integer, jsonb, oneOf, reference, text, timestamp, wallet } from '#platform/db/columns.ts';
import type { QuestDefinition } from './definition.ts';

/** A row is a quest in its current version. The row of a deleted quest stays, so that its id is not used again. */
export const QuestsTable = defineEntity({
  name: 'Quests',
  tableName: 'quests',
  properties: {
    id: byteText().primary(),
    version: integer(),
    definition: jsonb<QuestDefinition>(),
    createdAt: timestamp().defaultRaw('app_now()'),
    updatedAt: timestamp().defaultRaw('app_now()'),
    deletedAt: timestamp().nullable(),
    /** Version that the last event about the quest announced; null before `quest_published` and after `quest_withdrawn`. */
    publishedVersion: integer().nullable(),
  },
});

/** A row is the completion of a quest by a wallet in one window and mode. Each row gave points once. */
export const QuestCompletionsTable = defineEntity({
  name: 'QuestCompletions',
  tableName: 'quest_completions',
  properties: {
    wallet: wallet().primary(),
    /** The window: `once`, a UTC day, or an ISO week. */
    windowKey: byteText().primary(),
    questId: reference(QuestsTable, 'quest_id').primary(),
    /** Mode of the points. A completion in beta mode does not use up the completion in regular mode. */
    mode: oneOf('regular', 'beta').primary(),
    /** Version of the quest at the time of the completion. */
    version: integer(),
    /** Points after the multiplier; 0 when an operator revoked them, or while the completion is void. */
    points: integer(),
    /** Points that the completion gives again when its requirement is met again; null unless the completion is void. */
    voidedPoints: integer().nullable(),
    /** Number of times that the completion became void. */
    voids: integer().default(0),
    /** Name of the admin token of the operator who recorded the completion; null when the service recorded it. */
    by: text().nullable(),
    at: timestamp(),
  },
  checks: checks('voided_points >= 0'),
  indexes: [index('create index quest_completions_quest on quest_completions (quest_id, version) include (points)')],
});

/** A row is the definition of a quest in one version. */
export const QuestVersionsTable = defineEntity({
  name: 'QuestVersions',
  tableName: 'quest_versions',
  properties: {
    questId: reference(QuestsTable, 'quest_id').primary(),
    version: integer().primary(),
    definition: jsonb<QuestDefinition>(),
    /** Name of the admin token that created the version, or `seed`. */
    by: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

/**
 * A row counts the activities of one kind and subject that a wallet had in one week. The service computes the progress of every quest from these
 * rows.
 */
export const WalletWeeksTable = defineEntity({
  name: 'WalletWeeks',
  tableName: 'wallet_weeks',
  properties: {
    wallet: wallet().primary(),
    /** Day number of the Monday of the week. */
    week: integer().primary(),
    /** Kind of the activities, such as `score`. */
    kind: byteText().primary(),
    /** Id of the game or of the burn event; empty for activities without one. */
    subject: byteText().primary(),
    /** Number of activities per day, Monday first. */
    counts: array('int4'),
    /** Highest amount of an activity per day, Monday first. */
    bests: array('int8'),
    /** Sum of the amounts per day, Monday first, base units; null except for burns. */
    sums: array('numeric').nullable(),
  },
  checks: checks('cardinality(bests) = 7', 'cardinality(counts) = 7', 'cardinality(sums) = 7', '((week + 3) % 7) = 0'),
});

/** A row is the newest evaluation of a quest for all wallets. */
export const QuestSweepsTable = defineEntity({
  name: 'QuestSweeps',
  tableName: 'quest_sweeps',
  properties: {
    questId: reference(QuestsTable, 'quest_id').primary(),
    /** Describes what is evaluated: the version, the window, the games that count. */
    basis: text(),
    /** UTC day number whose windows are evaluated. */
    day: integer(),
    /** The evaluation continues with the wallets behind this one; empty at the beginning. */
    afterWallet: byteText().default(''),
    startedAt: timestamp().defaultRaw('app_now()'),
    finishedAt: timestamp().nullable(),
  },
});

/** Tables of this area. */
export const questsTables = [QuestsTable, QuestCompletionsTable, QuestSweepsTable, QuestVersionsTable, WalletWeeksTable] as const;
