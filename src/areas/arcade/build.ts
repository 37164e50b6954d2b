import { PlayersTable } from '#areas/points';
import { SettingsTable } from '#platform/db/entities.ts';
import { queryBuilder } from '#platform/db/query-builder.ts';
import { arcadeTables } from './entities.ts';
import { replayTables } from './replays/entities.ts';

/** Builds queries of the tables of this area, of `players` (bans) and of `settings` (the theme). */
export const build = queryBuilder([...arcadeTables, ...replayTables, PlayersTable, SettingsTable]);
