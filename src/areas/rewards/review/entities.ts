import { defineEntity } from '@mikro-orm/core';
import { bigint, bytes, checks, index, integer, oneOf, smallint, text, timestamp, tokenAmount, wallet } from '#platform/db/columns.ts';

/**
 * A row is an allocation that a later allocation of its epoch replaced. The allocation in force is in `epochs`. The columns have the meaning of the
 * columns of `epochs` with the same names.
 */
export const RewardAllocationsTable = defineEntity({
  name: 'RewardAllocations',
  tableName: 'reward_allocations',
  properties: {
    epoch: integer().primary(),
    allocation: smallint().primary(),
    root: bytes().nullable(),
    wallets: integer(),
    points: bigint(),
    leaves: integer(),
    total: tokenAmount(),
    undistributed: tokenAmount(),
    computedAt: timestamp(),
  },
});

/** A row excludes a wallet from allocations of an epoch. The wallet gets no leaf, and its share goes to the other wallets by the formula. */
export const RewardExclusionsTable = defineEntity({
  name: 'RewardExclusions',
  tableName: 'reward_exclusions',
  properties: {
    epoch: integer().primary(),
    wallet: wallet().primary(),
    /** operator: an operator excluded the wallet. ban: the wallet is banned. rule: the wallet does not meet the reward rules. */
    cause: oneOf('operator', 'ban', 'rule').primary(),
    /** Number of the first allocation without the wallet. */
    fromAllocation: smallint().primary(),
    /** Number of the first allocation with the wallet again; null while the exclusion is in force. */
    toAllocation: smallint().nullable(),
    /** Public reason. */
    reason: text(),
    /** Name of the admin token; null for the other causes. */
    excludedBy: text().nullable(),
    at: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('to_allocation > from_allocation', "(cause = 'operator') = (excluded_by is not null)"),
  indexes: [index('create unique index reward_exclusions_in_force on reward_exclusions (epoch, wallet, cause) where to_allocation is null')],
});
