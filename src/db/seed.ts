import type { MikroORM } from '@mikro-orm/postgresql';
import { seedArcade } from '../areas/arcade/seeds.ts';
import { connectionOf } from './sql.ts';

/** Fills tables that are empty, and only those. Returns what was filled. */
export function seed(orm: MikroORM): Promise<string[]> {
  return orm.em.fork().transactional(async (em) => seedArcade(await connectionOf(em.getKysely<unknown>())));
}
