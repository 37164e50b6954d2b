import type { MikroORM } from '@mikro-orm/postgresql';
import { connectionOf, type Queryable } from '#platform/db/sql.ts';
import { seedArcade } from './arcade/seeds.ts';
import { seedQuests } from './quests/seeds.ts';

const inTransaction = (orm: MikroORM, fill: (db: Queryable) => Promise<string[]>): Promise<string[]> =>
  orm.em.fork().transactional(async (em) => fill(await connectionOf(em.getKysely<unknown>())));

/** Fills the empty tables of the arcade. @returns names and row counts of the filled tables */
export const seed = (orm: MikroORM): Promise<string[]> => inTransaction(orm, seedArcade);

/**
 * Fills the table of quests if it is empty. `seed` does not fill this table, because quests grant points and most tests assert exact points without
 * quests.
 * @returns names and row counts of the filled tables
 */
export const seedInitialQuests = (orm: MikroORM): Promise<string[]> => inTransaction(orm, seedQuests);
