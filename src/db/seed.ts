import type { MikroORM } from '@mikro-orm/postgresql';

/** Fills tables that are empty, and only those. Returns what was filled. */
export async function seed(_orm: MikroORM): Promise<string[]> {
  return [];
}
