import { z } from 'zod';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { LEAD_SEC, MAX_COMMIT_WITHIN_SEC } from '#lib/draw/parameters.ts';
import { Wallet } from '#lib/scalars.ts';
import type { ReportProblem } from '#lib/settings/problems.ts';
import { KeyEnvironment, keySources } from './signers/config.ts';

export type { Role } from './signers/roles.ts';

/** The statements about recent fees that RPC nodes offer; see PRIORITY_FEE_API. */
const PRICE_APIS = ['agave', 'triton', 'helius'] as const;
export type PriceApi = (typeof PRICE_APIS)[number];

/** Parses an amount in base units or lamports. */
const amount = (fallback: string) =>
  z
    .string()
    .regex(/^(?:0|[1-9]\d{0,18})$/, 'must be a whole number of base units')
    .default(fallback)
    .transform(BigInt);
const milliseconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400_000).default(fallback);
const blocks = (fallback: number) => z.coerce.number().int().min(0).max(10_000).default(fallback);

const percent = z.coerce.number().int().min(0).max(100).default(0);

/** Parses the percentage of a daily limit that is reserved for each class of transactions. A class that is not named has no reserve. */
const reserves = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text): unknown =>
      Object.fromEntries(
        text
          .split(',')
          .filter(Boolean)
          .map((part) => part.trim().split(':')),
      ),
    )
    .pipe(z.strictObject({ commitments: percent, roots: percent, payouts: percent, claims: percent }))
    .refine((shares) => Object.values(shares).reduce((sum, share) => sum + share, 0) <= 100, 'the percentages must add up to at most 100');

const PUBLIC_MIRRORS = 'https://api.drand.sh,https://api2.drand.sh,https://api3.drand.sh,https://drand.cloudflare.com';
/** Maximum number of mirrors. A query may wait for the timeout of every mirror, so this number limits the duration of a query. */
const MAX_MIRRORS = 8;
const mirrors = z
  .string()
  .default(PUBLIC_MIRRORS)
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .pipe(
    z
      .array(z.url({ protocol: /^https?$/ }))
      .min(1)
      .max(MAX_MIRRORS),
  );
const hexOf = (bytes: number, fallback: string) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`), `must be ${2 * bytes} lower-case hexadecimal digits`)
    .default(fallback);
const seconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400).default(fallback);

/** The environment variables that configure the access to Solana. */
export const ChainEnvironment = {
  SOLANA_RPC_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** A second RPC node, of another provider. If it is set, a transaction counts as finalized, failed or expired only when both RPC nodes agree. */
  SOLANA_RPC_SECOND_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Maximum number of requests per second that a process sends to each RPC node. */
  SOLANA_RPC_PER_SECOND: z.coerce.number().int().min(2).max(100_000).default(2_000),
  DISTRIBUTOR_PROGRAM_ID: Wallet.optional(),
  /** The address that may replace the distributor program, such as that of a multisig. `none`: the program must be final. */
  UPGRADE_AUTHORITY: z.union([z.literal(['', 'none']), Wallet], 'must be an address, or none').default('none'),
  /** Program of draw commitments, and the draws account: the settings of all draws on the chain. */
  DRAWS_PROGRAM_ID: Wallet.optional(),
  DRAWS_ADDRESS: Wallet.optional(),
  REWARD_MINT: Wallet.optional(),
  USDC_MINT: Wallet.optional(),
  /** Whether the reward mint may have a freeze authority, which could block claims at any time. */
  REWARD_MINT_MAY_FREEZE: z
    .enum(['0', '1', 'false', 'true', ''])
    .default('')
    .transform((text) => text === '1' || text === 'true'),
  ...KeyEnvironment,
  /** Number of blocks that must be finalized after a transaction's last valid block before the transaction can count as expired. */
  LANDING_DEPTH_BLOCKS: blocks(32),
  /** Minimum time between two expiry checks of a transaction, ms. */
  LANDING_RECHECK_MS: milliseconds(30_000),
  /** Poll interval of pending transactions, ms. */
  LANDING_POLL_MS: milliseconds(400),
  /** Number of slots after which a pending transaction is sent again. */
  LANDING_RESEND_SLOTS: blocks(5),
  /** Age at which a transaction of unknown status is marked for an operator, ms. */
  LANDING_MANUAL_AFTER_MS: milliseconds(3_600_000),
  /** Age at which a payout batch that has not landed is abandoned, ms. */
  LANDING_GIVE_UP_MS: milliseconds(120_000),
  /**
   * Number of slots after which an unconfirmed transaction gets a further attempt with a higher fee, if an account on the chain prevents a second effect
   * (claims, epoch roots, draw commitments).
   */
  LANDING_RAISE_SLOTS: z.coerce.number().int().min(1).max(10_000).default(20),
  /** Minimum and maximum priority price of a transaction, millionths of a lamport per compute unit. */
  PRIORITY_FEE_FLOOR: z.coerce.number().int().min(0).max(100_000_000).default(1_000),
  PRIORITY_FEE_CAP: z.coerce.number().int().min(0).max(100_000_000).default(200_000),
  /**
   * The statement about recent fees that the first RPC node offers. `agave`: getRecentPrioritizationFees, which every RPC node has. `triton`: the same
   * method with the parameter `percentile`. `helius`: getPriorityFeeEstimate. A node that refuses its call is asked as `agave`.
   */
  PRIORITY_FEE_API: z.enum(PRICE_APIS).default('agave'),
  /** Maximum amounts that the service spends per UTC day: tokens in base units, SOL in lamports. */
  DAILY_REWARD_LIMIT: amount('1000000000000000'),
  DAILY_USDC_LIMIT: amount('10000000000'),
  DAILY_SOL_LIMIT: amount('20000000000'),
  /**
   * Percentages of DAILY_SOL_LIMIT and TOKEN_ACCOUNT_DAILY_BUDGET that only one class of transactions can spend, as `class:percent`, comma-separated. The
   * rest of a limit can be spent by every class.
   */
  DAILY_LIMIT_RESERVES: reserves('commitments:10,roots:10,payouts:20,claims:20'),
  /** Maximum amount per UTC day for opening token accounts of wallets, lamports. */
  TOKEN_ACCOUNT_DAILY_BUDGET: amount('2000000000'),
  /** Minimum amount of a claim for which the service opens the wallet's token account, base units. */
  TOKEN_ACCOUNT_MIN_CLAIM: amount('1000000'),
  /**
   * Minimum history of a wallet whose token account the service opens: UTC days with accepted scores, and accepted scores. Default: 3 in production,
   * else 0.
   */
  TOKEN_ACCOUNT_MIN_DAYS: z.coerce.number().int().min(0).max(365).optional(),
  TOKEN_ACCOUNT_MIN_SCORES: z.coerce.number().int().min(0).max(1_000_000).optional(),
  /** Minimum balance of the epoch authority that is sent to the fee payer, lamports. The balance grows by the rents of closed epochs. */
  RENT_SWEEP_MIN: amount('10000000'),
  /** `play`: a wallet must hold at least `GATE_MIN_BALANCE` of the reward token to start a play. Empty: every wallet may start a play. */
  GATE: z.enum(['', 'play']).default(''),
  GATE_MIN_BALANCE: amount('1'),
  /** URL of the price API. It answers `{ "solana": { "usd": 142.31 } }`, like CoinGecko's simple price. */
  PRICE_URL: z.url({ protocol: /^https?$/ }).default('https://api.coingecko.com/api/v3/simple/price?ids=solana&vs_currencies=usd'),
  /** The payer of new stablecoin payments: the treasury of the service, or the orchestrator (an external payment service). */
  USDC_PAYER: z.enum(['treasury', 'orchestrator']).default('treasury'),
  /**
   * Number of payout lanes, which is the maximum number of concurrent payout batches. Existing payments stay in their lanes when this number changes.
   */
  PAYOUT_LANES: z.coerce.number().int().min(1).max(64).default(4),
  /** URLs of the randomness beacon's mirrors, comma-separated, queried in this order. */
  DRAND_URLS: mirrors,
  /** Chain hash and public key of the beacon. Default: quicknet, a beacon chain of drand. */
  DRAND_CHAIN_HASH: hexOf(32, QUICKNET.chainHash),
  DRAND_PUBLIC_KEY: hexOf(96, QUICKNET.publicKey),
  /** Time from the signing of a draw commitment to the beacon round that decides the draw, seconds. */
  DRAW_LEAD_SEC: seconds(LEAD_SEC),
  /** Maximum time from the close of a round to its commitment on the chain, seconds. */
  DRAW_COMMIT_WITHIN_SEC: seconds(MAX_COMMIT_WITHIN_SEC).pipe(z.int().max(MAX_COMMIT_WITHIN_SEC)),
  /** Maximum time from the beacon round that decides a draw to the publication of the result, seconds. */
  DRAW_WITHIN_SEC: seconds(300),
  /** Maximum time from the beacon round that decides a draw to the payment of all prizes, seconds. */
  DRAW_PAY_WITHIN_SEC: seconds(86_400),
};

/** Default of SOLANA_RPC_URL. Production requires the setting. */
const LOCALNET_URL = 'http://127.0.0.1:8899';

type ChainVariables = z.output<z.ZodObject<typeof ChainEnvironment>>;

/** Default of TOKEN_ACCOUNT_MIN_DAYS and TOKEN_ACCOUNT_MIN_SCORES in production. */
const PRODUCTION_HISTORY = 3;
/** Minimum values of LANDING_DEPTH_BLOCKS and LANDING_RECHECK_MS in production. The two settings decide when a transaction counts as expired. */
const PRODUCTION_DEPTH_BLOCKS = 32;
const PRODUCTION_RECHECK_MS = 30_000;

/**
 * Builds the configuration of the access to Solana.
 * @param report gets a sentence when production settings let transactions count as expired too early, use another beacon than quicknet, or leave too
 * little time before a beacon round
 */
export function chainConfig(e: ChainVariables, production: boolean, report: ReportProblem) {
  if (production && e.LANDING_DEPTH_BLOCKS < PRODUCTION_DEPTH_BLOCKS) {
    report(`in production LANDING_DEPTH_BLOCKS must be at least ${PRODUCTION_DEPTH_BLOCKS}`);
  }
  if (production && e.LANDING_RECHECK_MS < PRODUCTION_RECHECK_MS) {
    report(`in production LANDING_RECHECK_MS must be at least ${PRODUCTION_RECHECK_MS}`);
  }
  if (e.PRIORITY_FEE_FLOOR > e.PRIORITY_FEE_CAP) report('PRIORITY_FEE_FLOOR must be at most PRIORITY_FEE_CAP');
  checkDraws(e, production, report);
  return {
    rpcUrl: e.SOLANA_RPC_URL ?? LOCALNET_URL,
    secondRpcUrl: e.SOLANA_RPC_SECOND_URL ?? null,
    rpcPerSecond: e.SOLANA_RPC_PER_SECOND,
    programId: e.DISTRIBUTOR_PROGRAM_ID ?? null,
    /** The address that may replace the distributor program; null when the program must be final. */
    upgradeAuthority: e.UPGRADE_AUTHORITY === '' || e.UPGRADE_AUTHORITY === 'none' ? null : e.UPGRADE_AUTHORITY,
    drawsProgramId: e.DRAWS_PROGRAM_ID ?? null,
    drawsAddress: e.DRAWS_ADDRESS ?? null,
    rewardMint: e.REWARD_MINT ?? null,
    usdcMint: e.USDC_MINT ?? null,
    rewardMintMayFreeze: e.REWARD_MINT_MAY_FREEZE,
    /** The keys and signers of this process; null for a role with which it does not sign. A key file is read when the key is used for the first time. */
    secrets: keySources(e, production, report),
    addresses: {
      feePayer: e.FEE_PAYER_ADDRESS ?? null,
      epochAuthority: e.EPOCH_AUTHORITY_ADDRESS ?? null,
      treasury: e.TREASURY_ADDRESS ?? null,
      committer: e.COMMITTER_ADDRESS ?? null,
    },
    submission: {
      depthBlocks: e.LANDING_DEPTH_BLOCKS,
      recheckMs: e.LANDING_RECHECK_MS,
      pollMs: e.LANDING_POLL_MS,
      resendSlots: e.LANDING_RESEND_SLOTS,
      manualAfterMs: e.LANDING_MANUAL_AFTER_MS,
      giveUpMs: e.LANDING_GIVE_UP_MS,
      raiseSlots: e.LANDING_RAISE_SLOTS,
      priorityFee: { floor: e.PRIORITY_FEE_FLOOR, cap: e.PRIORITY_FEE_CAP, api: e.PRIORITY_FEE_API },
    },
    dailyLimits: { reward: e.DAILY_REWARD_LIMIT, usdc: e.DAILY_USDC_LIMIT, sol: e.DAILY_SOL_LIMIT },
    reserves: e.DAILY_LIMIT_RESERVES,
    tokenAccounts: {
      dailyBudget: e.TOKEN_ACCOUNT_DAILY_BUDGET,
      minClaim: e.TOKEN_ACCOUNT_MIN_CLAIM,
      minDays: e.TOKEN_ACCOUNT_MIN_DAYS ?? (production ? PRODUCTION_HISTORY : 0),
      minScores: e.TOKEN_ACCOUNT_MIN_SCORES ?? (production ? PRODUCTION_HISTORY : 0),
    },
    rentSweepMin: e.RENT_SWEEP_MIN,
    tokenGate: { play: e.GATE === 'play', minBalance: e.GATE_MIN_BALANCE },
    priceUrl: e.PRICE_URL,
    usdcPayer: e.USDC_PAYER,
    payouts: { lanes: e.PAYOUT_LANES },
    beacon: { urls: e.DRAND_URLS, chainHash: e.DRAND_CHAIN_HASH, publicKey: e.DRAND_PUBLIC_KEY },
    draws: {
      leadSec: e.DRAW_LEAD_SEC,
      commitWithinSec: e.DRAW_COMMIT_WITHIN_SEC,
      drawWithinSec: e.DRAW_WITHIN_SEC,
      payWithinSec: e.DRAW_PAY_WITHIN_SEC,
    },
  };
}

function checkDraws(e: ChainVariables, production: boolean, report: ReportProblem): void {
  const isQuicknet = e.DRAND_CHAIN_HASH === QUICKNET.chainHash;
  if (production && !isQuicknet) report(`in production DRAND_CHAIN_HASH must be quicknet's, ${QUICKNET.chainHash}`);
  if (isQuicknet && e.DRAND_PUBLIC_KEY !== QUICKNET.publicKey) report("DRAND_PUBLIC_KEY must be quicknet's, because DRAND_CHAIN_HASH is quicknet's");
  if (production && e.DRAW_LEAD_SEC < LEAD_SEC) report(`in production DRAW_LEAD_SEC must be at least ${LEAD_SEC}`);
}
