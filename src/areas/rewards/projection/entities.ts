import { defineEntity } from '@mikro-orm/core';
import { bigint, integer, jsonb, timestamp } from '#platform/db/columns.ts';

/** A row caches the rewards that wallets would get if the current day ended now. */
export const RewardProjectionsTable = defineEntity({
  name: 'RewardProjections',
  tableName: 'reward_projections',
  properties: {
    /** UTC days since 1970-01-01. */
    day: integer().primary(),
    /** Number of ledger rows from which the cached rewards were computed. */
    entries: bigint(),
    /** Version of the reward rules with which they were computed. */
    rulesVersion: integer(),
    /** Stored form of `Projection` in projection/projection.ts. */
    projection: jsonb(),
    /** Duration of the computation, ms. */
    tookMs: integer(),
    at: timestamp(),
  },
});
