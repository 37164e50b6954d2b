import { z } from 'zod';
import { FORMULA } from '#lib/allocation.ts';
import { PageQuery } from '#lib/paging.ts';
import { Count, Day, Instant, Wallet } from '#lib/scalars.ts';
import { EPOCH_SOURCES, EPOCH_STATES } from './epochs.ts';
import { ImportHeader } from './import/distribution.ts';
import { RewardRules, TokenAmount } from './rules.ts';

const ROOT = '2f7a9c1be0d34455a8d0c6a1f1f0e7b3c9a2d4e6f8091a2b3c4d5e6f70819293';
const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Root = Hash.nullable().meta({ description: 'Root of the tree, SHA-256 in hex; null while there is none.', example: ROOT });
const amount = (description: string, example: string) => TokenAmount.meta({ description: `${description} Base units.`, example });

/** UTC days since 1970-01-01, in a path. */
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
    'computing: being made. empty: nothing to pay, it never goes on the chain. computed: leaves and root are fixed. committed: the root is on the chain, ' +
    'funded, and can be claimed. expired: that is over. settled: what was not claimed is settled off-chain.',
  example: 'committed',
});
const rulesOf = {
  pool: amount('What the day gave at most.', '100000000000'),
  cap: TokenAmount.nullable().meta({ description: 'What one wallet could get at most; null: all of it.', example: '10000000000' }),
  dust: amount('Amounts below this are not paid.', '10000'),
};
const FormulaVersion = z.int().min(1).meta({ description: 'Which formula shared the pool out.', example: FORMULA });

const address = (description: string) => z.string().meta({ description, example: WALLET });
const OnChain = z
  .strictObject({
    program: address('The distributor program.'),
    authority: address('Who opened it, and alone can settle it.'),
    mint: address('The token.'),
    account: address('The epoch’s account: root, total, what is claimed.'),
    vault: address('The token account that holds what is not claimed yet.'),
    claimed: amount('What has been claimed, finally.', '54321000000'),
    claims: Count.meta({ description: 'By how many wallets.', example: 700 }),
  })
  .meta({ id: 'RewardEpochOnChain' });

export const EpochView = z
  .strictObject({
    epoch: EpochNumber,
    date: Day,
    status: Status,
    source: z.enum(EPOCH_SOURCES).meta({ description: 'Computed from points, or imported.' }),
    root: Root,
    total: TokenAmount.nullable().meta({ description: 'What all leaves amount to, base units.', example: '98765432100' }),
    undistributed: TokenAmount.nullable().meta({ description: 'What of the pool is not given, base units; it stays.', example: '1234567900' }),
    leaves: Count.nullable().meta({ description: 'Wallets that are paid.', example: 1_200 }),
    wallets: Count.nullable().meta({ description: 'Wallets with points, or of the import.', example: 1_311 }),
    points: Count.nullable().meta({ description: 'Their points; null for an import.', example: 88_000 }),
    ...rulesOf,
    expiryDays: Count.meta({ description: 'How long it can be claimed once it is on the chain, days.', example: 90 }),
    rulesVersion: Count.meta({ description: 'Version of the rules that it was begun under; 0: the defaults.', example: 2 }),
    formulaVersion: FormulaVersion,
    timestamp: Instant.meta({ description: 'When it was computed; until then, when it was begun.' }),
    committedAt: Instant.nullable(),
    commitSignature: z.string().nullable().meta({ description: 'The transaction that put the root on the chain.', example: null }),
    expiresAt: Instant.nullable().meta({ description: 'Until when it can be claimed; known once it is committed.' }),
    settleRequestedAt: Instant.nullable().meta({ example: null }),
    settledAt: Instant.nullable().meta({ example: null }),
    onChain: OnChain.nullable().meta({ description: 'Where it is on the chain; null until its root is there, finally.' }),
  })
  .meta({ id: 'RewardEpoch' });
export type EpochView = z.output<typeof EpochView>;

export const EpochsQuery = PageQuery.extend({
  order: z.enum(['asc', 'desc']).default('asc').meta({ description: 'By number: asc = oldest first, desc = newest first.' }),
});

export const ProofView = z
  .strictObject({
    epoch: EpochNumber,
    wallet: z.string().meta({ example: WALLET }),
    index: Count.meta({ description: 'The leaf’s place in the tree.', example: 42 }),
    amount: z.string().meta({ description: 'Base units.', example: '2500000' }),
    proof: z.array(z.string()).meta({ description: 'The siblings from the leaf up, SHA-256 in hex.', example: [ROOT] }),
    root: z.string().meta({ description: 'Where the proof leads.', example: ROOT }),
  })
  .meta({ id: 'RewardProof' });

const claimable = Count.min(0);
export const ClaimableView = z
  .strictObject({
    epoch: EpochNumber,
    amount: amount('What the wallet gets.', '2500000'),
    index: claimable.meta({ description: 'The leaf’s place in the tree.', example: 42 }),
    status: z.enum([...EPOCH_STATES, 'claiming']).meta({
      description:
        'committed: it can be claimed now. claiming: a claim is on its way. computed: it can be claimed as soon as the root is on the chain. ' +
        'settled: it was settled off-chain.',
      example: 'committed',
    }),
    expiresAt: Instant.nullable().meta({ description: 'Until when it can be claimed; known once it is committed.' }),
  })
  .meta({ id: 'ClaimableReward' });

/** All of a wallet's rewards at once, unless they are very many. */
export const ClaimableQuery = PageQuery.extend({ limit: z.coerce.number().int().min(1).max(500).default(500) });

export const ProjectedView = z
  .strictObject({
    epoch: EpochNumber,
    wallet: z.string().meta({ example: WALLET }),
    amount: amount('What the wallet would get if the day ended now.', '2500000'),
    points: z.int().meta({ description: 'The wallet’s points of today that count.', example: 320 }),
    breakdown: z.strictObject({
      ...rulesOf,
      totalPoints: Count.meta({ description: 'Points of all wallets today.', example: 88_000 }),
      participants: Count.meta({ description: 'Wallets with points today.', example: 1_311 }),
      shareOfPoints: z.number().meta({ description: 'The wallet’s share of the points, percent, four decimals.', example: 0.3636 }),
      capped: z.boolean().meta({ description: 'Whether the cap decided.' }),
      belowDust: z.boolean().meta({ description: 'Whether the amount is too small to be paid.' }),
      formulaVersion: FormulaVersion,
    }),
    asOf: Instant.nullable().meta({ description: 'Of when the other wallets’ points are; null before the first were counted.' }),
  })
  .meta({ id: 'ProjectedReward' });

export const PoolView = z
  .strictObject({
    epoch: EpochNumber,
    ...rulesOf,
    participants: Count.meta({ description: 'Wallets with points today.', example: 1_311 }),
    points: Count.meta({ description: 'Their points.', example: 88_000 }),
    total: amount('What they would get if the day ended now.', '98765432100'),
    undistributed: amount('What of the pool would stay.', '1234567900'),
    distribution: z
      .array(
        z.strictObject({
          top: z.number().meta({ description: 'Percent of the wallets, those that get most.', example: 10 }),
          wallets: Count.meta({ example: 132 }),
          amount: amount('What they get together.', '54321000000'),
          share: z.number().meta({ description: 'Percent of the pool, two decimals.', example: 54.32 }),
        }),
      )
      .meta({ description: 'How the pool is spread: what the best 1, 5, 10, 25, 50, 75 and 100 percent get. Empty before the first points.' }),
    endsAt: Instant,
    timestamp: Instant.meta({ description: 'Of when the points are.' }),
  })
  .meta({ id: 'RewardPoolToday' });

export const RulesRequest = RewardRules.meta({
  id: 'RewardRulesRequest',
  example: { pool: '100000000000', cap: '10000000000', dust: '10000', expiryDays: 90, automatic: true },
});

export const RewardsConfig = z
  .strictObject({
    version: Count.meta({ description: 'Of the rules; 0: nobody has set any, these are the defaults.', example: 2 }),
    pool: amount('What one day gives at most.', '100000000000'),
    cap: TokenAmount.nullable().meta({ description: 'What one wallet gets of a day at most; null: all of it.', example: '10000000000' }),
    dust: amount('Amounts below this are not paid.', '10000'),
    expiryDays: Count.meta({ description: 'How long an epoch can be claimed from when it is on the chain, days.', example: 90 }),
    automatic: z.boolean().meta({ description: 'Whether days that have ended are computed by themselves.', example: true }),
    mint: z.string().nullable().meta({ description: 'The token that is given; null where none is configured.', example: null }),
    formulaVersion: FormulaVersion,
    distribution: z
      .strictObject({ period: z.literal('day'), share: z.string(), cap: z.string(), rounding: z.string(), dust: z.string() })
      .meta({ description: 'How a day’s pool is shared out.' }),
  })
  .meta({ id: 'RewardsConfig' });

export const TriggerRequest = z
  .strictObject({
    epoch: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .optional()
      .meta({ description: 'UTC days since 1970-01-01; by default the last day that has ended.', example: 20_777 }),
  })
  .meta({ id: 'TriggerEpochRequest' });

// What is wrong with rows is told of ten at once, so they are not refused one by one here.
const Row = z.unknown().meta({
  override: {
    type: 'object',
    properties: { wallet: { type: 'string', example: WALLET }, amount: { type: 'string', example: '2500000' } },
    required: ['wallet', 'amount'],
    additionalProperties: false,
  },
});

/** A small import: up to 256 KB of JSON. Larger ones come as NDJSON. */
export const ImportRequest = ImportHeader.extend({
  distribution: z.array(Row).min(1).meta({ description: 'Who gets how much, base units; the leaves of the tree in this order.' }),
}).meta({ id: 'ImportEpochRequest', example: { epoch: 20_777, distribution: [{ wallet: WALLET, amount: '2500000' }] } });
