import { defineEntity } from '@mikro-orm/core';
import { array, byteText, checks, index, integer, jsonb, reference, text, timestamp, wallet } from '#platform/db/columns.ts';

export const QuestsTable = defineEntity({
  name: 'Quests',
  tableName: 'quests',
  properties: {
    id: byteText().primary(),
    version: integer(),
    definition: jsonb(),
    createdAt: timestamp().defaultRaw('app_now()'),
    updatedAt: timestamp().defaultRaw('app_now()'),
    deletedAt: timestamp().nullable(),
  },
});

export const QuestCompletionsTable = defineEntity({
  name: 'QuestCompletions',
  tableName: 'quest_completions',
  properties: {
    wallet: wallet().primary(),
    windowKey: byteText().primary(),
    questId: reference(QuestsTable, 'quest_id').primary(),
    version: integer(),
    points: integer(),
    by: text().nullable(),
    at: timestamp(),
  },
  indexes: [index('create index quest_completions_quest on quest_completions (quest_id, version) include (points)')],
});

export const QuestVersionsTable = defineEntity({
  name: 'QuestVersions',
  tableName: 'quest_versions',
  properties: {
    questId: reference(QuestsTable, 'quest_id').primary(),
    version: integer().primary(),
    definition: jsonb(),
    by: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

export const WalletWeeksTable = defineEntity({
  name: 'WalletWeeks',
  tableName: 'wallet_weeks',
  properties: {
    wallet: wallet().primary(),
    week: integer().primary(),
    kind: byteText().primary(),
    subject: byteText().primary(),
    counts: array('int4'),
    bests: array('int8'),
    sums: array('numeric').nullable(),
  },
  checks: checks('cardinality(bests) = 7', 'cardinality(counts) = 7', 'cardinality(sums) = 7', '((week + 3) % 7) = 0'),
});

/** Tables of this area. */
export const questsTables = [QuestsTable, QuestCompletionsTable, QuestVersionsTable, WalletWeeksTable] as const;
