import { SettingsTable } from '#platform/db/entities.ts';
import { queryBuilder } from '#platform/db/query-builder.ts';
import { rewardsTables } from './entities.ts';

/** Builds queries of the tables of this area, and of the table with the reward rules. */
export const build = queryBuilder([...rewardsTables, SettingsTable]);
