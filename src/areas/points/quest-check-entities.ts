import { defineEntity } from '@mikro-orm/core';
import { byteText, index, integer, timestamp, wallet } from '#platform/db/columns.ts';

/**
 * A row asks the quest area to evaluate quests for a wallet, because something other than a new activity may have met their requirement, or because
 * the token balance of the wallet was not known when the requirement was met.
 */
export const QuestChecksTable = defineEntity({
  name: 'QuestChecks',
  tableName: 'quest_checks',
  properties: {
    wallet: wallet().primary(),
    /** Id of the quest; empty for all quests. */
    questId: byteText().primary(),
    /** UTC day number whose windows are evaluated. */
    day: integer().primary(),
    /** The requirement may have been met from `firstAt` to `lastAt`. */
    firstAt: timestamp(),
    lastAt: timestamp(),
    askedAt: timestamp().defaultRaw('app_now()'),
    /** Time of the next attempt. */
    tryAt: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index quest_checks_try_at on quest_checks (try_at)')],
});
