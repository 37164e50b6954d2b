import { z } from 'zod';
import { FORMULA } from '#lib/allocation.ts';
import { PageQuery } from '#lib/paging.ts';
import { Count, Day, Instant, Points, Wallet } from '#lib/scalars.ts';
import { EPOCH_SOURCES, EPOCH_STATES } from './epochs/epochs.ts';
import { ImportHeader } from './import/distribution.ts';
import { RewardRules, TokenAmount } from './rules.ts';

const ROOT = '2f7a9c1be0d34455a8d0c6a1f1f0e7b3c9a2d4e6f8091a2b3c4d5e6f70819293';
const POINTS_HASH = '8c5e1f0a7b3d9264c1a0e5f8b7d6c3a29f1e0d4b6a8c7e5f3d2b1a0c9e8f7d60';
const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Root = Hash.nullable().meta({ description: 'Root of the Merkle tree, SHA-256 in hex; null while there is none.', example: ROOT });
const amount = (description: string, example: string) => TokenAmount.meta({ description: `${description} Base units.`, example });

/** An epoch number as a path parameter: UTC days since 1970-01-01. */
const EpochInPath = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,8})$/, 'must be a number of UTC days since 1970-01-01')
  .meta({ description: 'The epoch: UTC days since 1970-01-01.', example: '20777' });
export const EpochPath = z.object({ epoch: EpochInPath });
export const EpochWalletPath = z.object({ epoch: EpochInPath, wallet: Wallet });
export const WalletPath = z.object({ wallet: Wallet });

const EpochNumber = Count.meta({ description: 'UTC days since 1970-01-01.', example: 20_777 });
const Status = z.enum(EPOCH_STATES).meta({
  description:
    'computing: the leaves are being computed. empty: no wallet is paid, so the epoch is not committed to the chain. computed: leaves and root are computed; until the root is signed, wallets can be excluded, and leaves and root are computed anew. ' +
    'committed: root and tokens are on the chain, rewards can be claimed. expired: rewards cannot be claimed any more. ' +
    'settled: unclaimed rewards are settled off-chain.',
  example: 'committed',
});
const rulesOf = {
  pool: amount('Maximum sum of the amounts of the day.', '100000000000'),
  cap: TokenAmount.nullable().meta({ description: 'Maximum amount of one wallet, base units; null: no maximum.', example: '10000000000' }),
  dust: amount('Minimum amount that is paid.', '10000'),
};
const gatesOf = {
  minPlayDays: Count.meta({
    description:
      'Minimum number of UTC days, of the 30 days up to the day of the epoch, on which a wallet got points from games; 0: no minimum. Wallets with fewer days are excluded.',
    example: 0,
  }),
  minAcceptedScores: Count.meta({
    description: 'Minimum number of accepted scores that a wallet has when the epoch is computed; 0: no minimum. Wallets with fewer are excluded.',
    example: 0,
  }),
};
const FormulaVersion = z.int().min(1).meta({ description: 'Version of the allocation formula.', example: FORMULA });

const address = (description: string) => z.string().meta({ description, example: WALLET });
const OnChain = z
  .strictObject({
    program: address('Address of the distributor program.'),
    authority: address('Key that opened the epoch; only this key can settle it.'),
    mint: address('Mint of the reward token.'),
    account: address('Account of the epoch: root, total and claimed amount.'),
    vault: address('Token account that holds the unclaimed tokens.'),
    claimed: amount('Sum of the finalized claims.', '54321000000'),
    claims: Count.meta({ description: 'Number of finalized claims.', example: 700 }),
  })
  .meta({ id: 'RewardEpochOnChain' });

export const EpochView = z
  .strictObject({
    epoch: EpochNumber,
    date: Day,
    status: Status,
    source: z.enum(EPOCH_SOURCES).meta({ description: 'computed: from points. import: from an imported distribution.' }),
    root: Root,
    total: TokenAmount.nullable().meta({ description: 'Sum of all leaves, base units.', example: '98765432100' }),
    undistributed: TokenAmount.nullable().meta({ description: 'Part of the pool that is not distributed, base units.', example: '1234567900' }),
    leaves: Count.nullable().meta({ description: 'Number of wallets that are paid.', example: 1_200 }),
    wallets: Count.nullable().meta({
      description: 'Number of wallets with points that are not excluded; for an import, number of wallets in it.',
      example: 1_311,
    }),
    points: Count.nullable().meta({ description: 'Points of these wallets; null for an import.', example: 88_000 }),
    pointsHash: Hash.nullable().meta({
      description: 'SHA-256 of the file with the points of each wallet by source, in hex; null for an import, and until the file is stored.',
      example: POINTS_HASH,
    }),
    ...rulesOf,
    expiryDays: Count.meta({
      description: 'Number of days for which rewards can be claimed after the root of the epoch is on the chain.',
      example: 90,
    }),
    rulesVersion: Count.meta({ description: 'Version of the reward rules that the epoch uses; 0: the default rules.', example: 2 }),
    formulaVersion: FormulaVersion,
    ...gatesOf,
    allocation: Count.meta({
      description: 'Number of the allocation in force, from 1. Each change of the exclusions leads to a new allocation.',
      example: 1,
    }),
    allocationPending: z.boolean().meta({
      description: 'Whether the exclusions changed, and the next allocation is being computed.',
      example: false,
    }),
    reviewEndsAt: Instant.nullable().meta({
      description: 'Time before which the root is not signed; null while the epoch is computing, and for an epoch without a review.',
    }),
    timestamp: Instant.meta({
      description: 'Time at which the allocation in force was computed; while it is computing, the time at which it was created.',
    }),
    committedAt: Instant.nullable(),
    commitSignature: z.string().nullable().meta({ description: 'Signature of the transaction that put the root on the chain.', example: null }),
    expiresAt: Instant.nullable().meta({
      description: 'Time until which the rewards of the epoch can be claimed; null before the root is on the chain.',
    }),
    settleRequestedAt: Instant.nullable().meta({ example: null }),
    settledAt: Instant.nullable().meta({ example: null }),
    onChain: OnChain.nullable().meta({ description: 'Addresses of the epoch on the chain; null until the transaction with the root is finalized.' }),
  })
  .meta({ id: 'RewardEpoch' });
export type EpochView = z.output<typeof EpochView>;

export const EpochsQuery = PageQuery.extend({
  order: z.enum(['asc', 'desc']).default('asc').meta({ description: 'Order by epoch number: asc = oldest first, desc = newest first.' }),
});

export const ProofView = z
  .strictObject({
    epoch: EpochNumber,
    wallet: z.string().meta({ example: WALLET }),
    index: Count.meta({ description: 'Index of the leaf in the tree.', example: 42 }),
    amount: z.string().meta({ description: 'Amount of the leaf, base units.', example: '2500000' }),
    proof: z.array(z.string()).meta({ description: 'Sibling hashes from the leaf to the root, SHA-256 in hex.', example: [ROOT] }),
    root: z.string().meta({ description: 'Root of the tree to which the proof leads, SHA-256 in hex.', example: ROOT }),
  })
  .meta({ id: 'RewardProof' });

const claimable = Count.min(0);
export const ClaimableView = z
  .strictObject({
    epoch: EpochNumber,
    amount: amount('Amount of the leaf.', '2500000'),
    index: claimable.meta({ description: 'Index of the leaf in the tree.', example: 42 }),
    status: z.enum(['claimable', 'upcoming', 'settled']).meta({
      description:
        'claimable: can be claimed now. upcoming: can be claimed as soon as the root of the epoch is on the chain. settled: settled off-chain, or being settled, so it cannot be claimed.',
      example: 'claimable',
    }),
    claiming: z.boolean().meta({ description: 'Whether a claim of the reward is in flight.', example: false }),
    expiresAt: Instant.nullable().meta({ description: 'Time until which the reward can be claimed; null before the root is on the chain.' }),
  })
  .meta({ id: 'ClaimableReward' });

/** Query parameters for a page of claimable rewards. The default limit is 500, so that one request returns all rewards of most wallets. */
export const ClaimableQuery = PageQuery.extend({
  limit: z.coerce.number().int().min(1).max(500).default(500).meta({ description: 'Maximum number of rows.' }),
});

export const ProjectedView = z
  .strictObject({
    epoch: EpochNumber,
    wallet: z.string().meta({ example: WALLET }),
    amount: amount('Amount of the wallet if the day ended now.', '2500000'),
    points: Points.meta({ description: 'Points of the wallet today that earn rewards.', example: 320 }),
    breakdown: z.strictObject({
      ...rulesOf,
      totalPoints: Count.meta({ description: 'Points of all wallets today.', example: 88_000 }),
      participants: Count.meta({ description: 'Number of wallets with points today.', example: 1_311 }),
      shareOfPoints: z.number().meta({ description: 'Percentage of all points that the wallet has, four decimals.', example: 0.3636 }),
      capped: z.boolean().meta({ description: 'Whether the cap limits the amount.' }),
      belowDust: z.boolean().meta({ description: 'Whether the amount is below dust, so it is not paid.' }),
      formulaVersion: FormulaVersion,
    }),
    asOf: Instant.nullable().meta({ description: 'Time at which the points of the other wallets were counted; null before the first count.' }),
  })
  .meta({ id: 'ProjectedReward' });

export const PoolView = z
  .strictObject({
    epoch: EpochNumber,
    ...rulesOf,
    participants: Count.meta({ description: 'Number of wallets with points today.', example: 1_311 }),
    points: Count.meta({ description: 'Points of all wallets today.', example: 88_000 }),
    total: amount('Sum of all amounts if the day ended now.', '98765432100'),
    undistributed: amount('Part of the pool that would not be distributed.', '1234567900'),
    distribution: z
      .array(
        z.strictObject({
          top: z.number().meta({ description: 'Percentage of the wallets that the entry includes, best paid first.', example: 10 }),
          wallets: Count.meta({ example: 132 }),
          amount: amount('Sum of the amounts of these wallets.', '54321000000'),
          share: z.number().meta({ description: 'Percentage of the pool that these wallets get, two decimals.', example: 54.32 }),
        }),
      )
      .meta({ description: 'Amounts of the best-paid 1, 5, 10, 25, 50, 75 and 100 percent of the wallets. Empty before the first points.' }),
    endsAt: Instant,
    timestamp: Instant.meta({ description: 'Time at which the points were counted.' }),
  })
  .meta({ id: 'RewardPoolToday' });

export const RulesRequest = RewardRules.meta({
  id: 'RewardRulesRequest',
  example: { pool: '100000000000', cap: '10000000000', dust: '10000', expiryDays: 90, automatic: true, minPlayDays: 0, minAcceptedScores: 0 },
});

export const RewardsConfig = z
  .strictObject({
    version: Count.meta({ description: 'Version of the rules; 0: the default rules.', example: 2 }),
    pool: amount('Maximum sum of the amounts of one day.', '100000000000'),
    cap: TokenAmount.nullable().meta({ description: 'Maximum amount of one wallet per day, base units; null: no maximum.', example: '10000000000' }),
    dust: amount('Minimum amount that is paid.', '10000'),
    expiryDays: Count.meta({ description: 'Days for which an epoch can be claimed after its commit to the chain.', example: 90 }),
    automatic: z.boolean().meta({ description: 'Whether the service computes ended days automatically.', example: true }),
    ...gatesOf,
    reviewHours: Count.meta({
      description: 'Hours between the computation of an epoch and the earliest signing of its root, in which operators can exclude wallets.',
      example: 6,
    }),
    mint: z.string().nullable().meta({ description: 'Mint of the reward token; null when none is configured.', example: null }),
    formulaVersion: FormulaVersion,
    distribution: z
      .strictObject({ period: z.literal('day'), share: z.string(), cap: z.string(), rounding: z.string(), dust: z.string(), exclusions: z.string() })
      .meta({ description: 'Formula that distributes the pool of a day.' }),
  })
  .meta({ id: 'RewardsConfig' });

/** The version of reward rules as a path parameter. */
export const RulesPath = z.object({
  version: z
    .string()
    .regex(/^(?:0|[1-9]\d{0,8})$/, 'must be a version number')
    .meta({ description: 'The version of the rules; 0: the default rules.', example: '2' }),
});

/** A version of the reward rules, as it was stored. */
export const RulesView = RewardsConfig.omit({ mint: true, formulaVersion: true, distribution: true, reviewHours: true })
  .extend({ storedAt: Instant.nullable().meta({ description: 'Time at which the version was stored; null for the default rules.' }) })
  .meta({ id: 'RewardRulesVersion' });

export const TriggerRequest = z
  .strictObject({
    epoch: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .optional()
      .meta({ description: 'Epoch to compute: UTC days since 1970-01-01; by default the latest ended day.', example: 20_777 }),
  })
  .meta({ id: 'TriggerEpochRequest' });

// This schema accepts any row. `DistributionReader` checks the rows, so that one error can name up to ten invalid rows.
const Row = z.unknown().meta({
  override: {
    type: 'object',
    properties: { wallet: { type: 'string', example: WALLET }, amount: { type: 'string', example: '2500000' } },
    required: ['wallet', 'amount'],
    additionalProperties: false,
  },
});

/** The body of an import as JSON, at most 256 KB. A larger import must be sent as NDJSON. */
export const ImportRequest = ImportHeader.extend({
  distribution: z.array(Row).min(1).meta({ description: 'Wallets and their amounts in base units. The leaves of the tree have this order.' }),
}).meta({ id: 'ImportEpochRequest', example: { epoch: 20_777, distribution: [{ wallet: WALLET, amount: '2500000' }] } });
