import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Count, Instant, line, Wallet } from '#lib/scalars.ts';
import { TokenAmount } from '../rules.ts';
import { CAUSES } from './exclusions.ts';

const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
/** Maximum wallets that one request excludes. */
const MAX_WALLETS = 1_000;

/** The number of an allocation as a query parameter. */
const AllocationNumber = z.coerce
  .number()
  .int()
  .min(1)
  .max(32_767)
  .optional()
  .meta({ description: 'Number of the allocation, from 1; by default the allocation in force.', example: 1 });

export const LeavesQuery = z.object({ allocation: AllocationNumber });
export const ExclusionsQuery = PageQuery.extend({ allocation: AllocationNumber });

export const AllocationView = z
  .strictObject({
    allocation: Count.meta({ description: 'Number of the allocation, from 1.', example: 2 }),
    root: z.string().nullable().meta({
      description: 'Root of the Merkle tree, SHA-256 in hex; null when no wallet is paid.',
      example: '2f7a9c1be0d34455a8d0c6a1f1f0e7b3c9a2d4e6f8091a2b3c4d5e6f70819293',
    }),
    wallets: Count.meta({ description: 'Number of wallets with points that are not excluded.', example: 1_311 }),
    points: Count.nullable().meta({ description: 'Points of these wallets; null for an import.', example: 88_000 }),
    leaves: Count.meta({ description: 'Number of wallets that are paid.', example: 1_200 }),
    total: TokenAmount.meta({ description: 'Sum of all leaves, base units.', example: '98765432100' }),
    undistributed: TokenAmount.meta({ description: 'Part of the pool that is not distributed, base units.', example: '1234567900' }),
    computedAt: Instant.meta({ description: 'Time at which the allocation was computed.' }),
    reason: z.string().meta({ description: 'Reason why the allocation was computed.', example: 'wallets excluded: 3; wallets readmitted: 0' }),
  })
  .meta({ id: 'RewardAllocation' });

export const ExclusionView = z
  .strictObject({
    wallet: z.string().meta({ example: WALLET }),
    cause: z.enum(CAUSES).meta({
      description: 'operator: an operator excluded the wallet. ban: the wallet is banned. rule: the wallet does not meet the reward rules.',
    }),
    reason: z.string().meta({ example: 'one of 40 wallets that a script plays' }),
    at: Instant.meta({ description: 'Time at which the wallet was excluded.' }),
  })
  .meta({ id: 'RewardExclusion' });

export const ExclusionsRequest = z
  .strictObject({
    wallets: z
      .array(Wallet)
      .min(1)
      .max(MAX_WALLETS)
      .meta({ description: 'Wallets with points in the epoch.', example: [WALLET] }),
    reason: line(200).meta({ description: 'Reason that everybody can read.', example: 'one of 40 wallets that a script plays' }),
  })
  .meta({ id: 'RewardExclusionsRequest' });
