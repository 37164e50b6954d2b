import { queryBuilder } from '#platform/db/query-builder.ts';
import { payoutsTables } from './entities.ts';

/** Builds queries of the tables of this area. */
export const build = queryBuilder(payoutsTables);
