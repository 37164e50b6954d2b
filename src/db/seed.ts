import type { MikroORM } from '@mikro-orm/postgresql';
import { seedArcade } from '../areas/arcade/seeds.ts';
import { seedQuests } from '../areas/quests/seeds.ts';
import { connectionOf, type Queryable } from './sql.ts';

const inTransaction = (orm: MikroORM, fill: (db: Queryable) => Promise<string[]>): Promise<string[]> =>
  orm.em.fork().transactional(async (em) => fill(await connectionOf(em.getKysely<unknown>())));

/** Fills tables that are empty, and only those. Returns what was filled. */
export const seed = (orm: MikroORM): Promise<string[]> => inTransaction(orm, seedArcade);

/** The same for quests. They give points by themselves: what counts points exactly goes without them. */
export const seedOpening = (orm: MikroORM): Promise<string[]> => inTransaction(orm, seedQuests);
