import { queryBuilder } from '#platform/db/query-builder.ts';
import { pointsTables } from './entities.ts';

/** Builds queries of the tables of this area. */
export const build = queryBuilder(pointsTables);
