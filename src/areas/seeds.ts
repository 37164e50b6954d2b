import type { MikroORM } from '@mikro-orm/postgresql';
import { runInTransaction } from '#platform/db/connection.ts';
import { seedArcade } from './arcade/seeds.ts';
import { seedQuests } from './quests/seeds.ts';

/** Fills the empty tables of the arcade. @returns names and row counts of the filled tables */
export const seed = (orm: MikroORM): Promise<string[]> => runInTransaction(orm, seedArcade);

/**
 * Fills the table of quests if it is empty. `seed` does not fill this table, because quests grant points and most tests assert exact points without
 * quests.
 * @returns names and row counts of the filled tables
 */
export const seedInitialQuests = (orm: MikroORM): Promise<string[]> => runInTransaction(orm, seedQuests);
