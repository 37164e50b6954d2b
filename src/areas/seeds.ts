import type { MikroORM } from '@mikro-orm/postgresql';
import { connectionOf, type Queryable } from '#platform/db/sql.ts';
import { seedArcade } from './arcade/seeds.ts';
import { seedQuests } from './quests/seeds.ts';

const inTransaction = (orm: MikroORM, fill: (db: Queryable) => Promise<string[]>): Promise<string[]> =>
  orm.em.fork().transactional(async (em) => fill(await connectionOf(em.getKysely<unknown>())));

/** Fills tables that are empty, and only those. Returns what was filled. */
export const seed = (orm: MikroORM): Promise<string[]> => inTransaction(orm, seedArcade);

/** The same for quests. They give points by themselves: what counts points exactly goes without them. */
export const seedOpening = (orm: MikroORM): Promise<string[]> => inTransaction(orm, seedQuests);
