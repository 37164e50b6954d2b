import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { LEAD_SEC, MARGIN_SEC } from '#lib/draw/parameters.ts';
import { Wallet } from '#lib/scalars.ts';

/**
 * Who signs what. `feePayer` pays fees and rents; `epochAuthority` opens and settles reward epochs; `treasury` owns the
 * tokens that are paid out; `committer` signs the commitments of rounds.
 */
export const ROLES = ['feePayer', 'epochAuthority', 'treasury', 'committer'] as const;
export type Role = (typeof ROLES)[number];

/** Base units of a token, or lamports, as text. */
const amount = (fallback: string) =>
  z
    .string()
    .regex(/^(?:0|[1-9]\d{0,18})$/, 'must be a whole number of base units')
    .default(fallback)
    .transform(BigInt);
const milliseconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400_000).default(fallback);
const blocks = (fallback: number) => z.coerce.number().int().min(0).max(10_000).default(fallback);

/** A secret key, or the absolute path of the file that holds it: a JSON array of 64 numbers, or base58. */
const secret = z.string().min(1).optional();

const PUBLIC_MIRRORS = 'https://api.drand.sh,https://api2.drand.sh,https://api3.drand.sh,https://drand.cloudflare.com';
/** Each may take a moment, and none is asked for long. */
const MOST_MIRRORS = 8;
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
      .max(MOST_MIRRORS),
  );
const hexOf = (bytes: number, fallback: string) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`), `must be ${2 * bytes} lower-case hexadecimal digits`)
    .default(fallback);
const seconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400).default(fallback);

/** What a process is told about the chain. */
export const ChainEnvironment = {
  SOLANA_RPC_URL: z.url({ protocol: /^https?$/ }).default('http://127.0.0.1:8899'),
  /** A second provider, asked before a transaction is given up for dead. */
  SOLANA_RPC_SECOND_URL: z.url({ protocol: /^https?$/ }).optional(),
  DISTRIBUTOR_PROGRAM_ID: Wallet.optional(),
  REWARD_MINT: Wallet.optional(),
  USDC_MINT: Wallet.optional(),
  /** Takes a reward mint that has a freeze authority, who can stop claims at will. */
  REWARD_MINT_MAY_FREEZE: z
    .enum(['0', '1', 'false', 'true', ''])
    .default('')
    .transform((text) => text === '1' || text === 'true'),
  FEE_PAYER_KEY: secret,
  EPOCH_AUTHORITY_KEY: secret,
  TREASURY_KEY: secret,
  COMMITTER_KEY: secret,
  /** Whose tokens are paid out, and who signs the commitments of rounds: for processes that do not hold those keys. */
  TREASURY_ADDRESS: Wallet.optional(),
  COMMITTER_ADDRESS: Wallet.optional(),
  /** Blocks beyond a transaction's last valid one, finalized, before its absence means anything; and the time between two looks. */
  LANDING_DEPTH_BLOCKS: blocks(32),
  LANDING_RECHECK_MS: milliseconds(30_000),
  /** How often pending transactions are looked at, and after how many slots their bytes are sent again. */
  LANDING_POLL_MS: milliseconds(400),
  LANDING_RESEND_SLOTS: blocks(5),
  /** When a transaction that nothing is known of is handed to people, and when a batch that does not land is given up. */
  LANDING_MANUAL_AFTER_MS: milliseconds(3_600_000),
  LANDING_GIVE_UP_MS: milliseconds(120_000),
  /** The most that is offered for priority, millionths of a lamport per compute unit. */
  PRIORITY_FEE_CAP: z.coerce.number().int().min(0).max(100_000_000).default(200_000),
  /** What may leave in one UTC day; base units and lamports. */
  DAILY_REWARD_LIMIT: amount('1000000000000000'),
  DAILY_USDC_LIMIT: amount('10000000000'),
  DAILY_SOL_LIMIT: amount('20000000000'),
  /** What may be spent a day on opening wallets' token accounts, lamports; and the smallest claim that it is done for. */
  TOKEN_ACCOUNT_DAILY_BUDGET: amount('2000000000'),
  TOKEN_ACCOUNT_MIN_CLAIM: amount('1000000'),
  /** `play`: wallets that hold less than the minimum of the reward token may not start plays. */
  GATE: z.enum(['', 'play']).default(''),
  GATE_MIN_BALANCE: amount('1'),
  /** Answers `{ "solana": { "usd": 142.31 } }`, as CoinGecko's simple price does. */
  PRICE_URL: z.url({ protocol: /^https?$/ }).default('https://api.coingecko.com/api/v3/simple/price?ids=solana&vs_currencies=usd'),
  /** Who pays stablecoin that is owed from now on. */
  USDC_PAYER: z.enum(['treasury', 'orchestrator']).default('treasury'),
  /** Batches of payouts that may be on their way at once. What is owed keeps the lane that it was given. */
  PAYOUT_LANES: z.coerce.number().int().min(1).max(64).default(4),
  /** Mirrors of the randomness beacon, comma-separated, asked in this order; and which beacon it is. The defaults are drand's quicknet. */
  DRAND_URLS: mirrors,
  DRAND_CHAIN_HASH: hexOf(32, QUICKNET.chainHash),
  DRAND_PUBLIC_KEY: hexOf(96, QUICKNET.publicKey),
  /** From the signing of a draw's commitment to the beacon's round, and the least from the commitment's block to that round. */
  DRAW_LEAD_SEC: seconds(LEAD_SEC),
  DRAW_MARGIN_SEC: seconds(MARGIN_SEC),
};

type Environment = z.output<z.ZodObject<typeof ChainEnvironment>>;

/** The least that production waits before it takes a transaction for dead. */
const PRODUCTION_DEPTH_BLOCKS = 32;
const PRODUCTION_RECHECK_MS = 30_000;

/** A secret is an absolute path or the key itself. */
export type Secret = { readonly file: string } | { readonly text: string };

const secretOf = (text: string | undefined): Secret | null => {
  if (text === undefined) return null;
  return isAbsolute(text) ? { file: text } : { text };
};

/** @throws where production would take transactions for dead too early, or draw by a beacon or in a haste that nobody could trust */
export function chainConfig(e: Environment, production: boolean) {
  if (production && (e.LANDING_DEPTH_BLOCKS < PRODUCTION_DEPTH_BLOCKS || e.LANDING_RECHECK_MS < PRODUCTION_RECHECK_MS)) {
    throw new Error(
      `configuration: in production LANDING_DEPTH_BLOCKS must be at least ${PRODUCTION_DEPTH_BLOCKS} and LANDING_RECHECK_MS at least ${PRODUCTION_RECHECK_MS}`,
    );
  }
  checkDraws(e, production);
  const secrets: Readonly<Record<Role, Secret | null>> = {
    feePayer: secretOf(e.FEE_PAYER_KEY),
    epochAuthority: secretOf(e.EPOCH_AUTHORITY_KEY),
    treasury: secretOf(e.TREASURY_KEY),
    committer: secretOf(e.COMMITTER_KEY),
  };
  return {
    rpcUrl: e.SOLANA_RPC_URL,
    secondRpcUrl: e.SOLANA_RPC_SECOND_URL ?? null,
    programId: e.DISTRIBUTOR_PROGRAM_ID ?? null,
    rewardMint: e.REWARD_MINT ?? null,
    usdcMint: e.USDC_MINT ?? null,
    rewardMintMayFreeze: e.REWARD_MINT_MAY_FREEZE,
    /** Read only where something is signed. */
    secrets,
    addresses: { treasury: e.TREASURY_ADDRESS ?? null, committer: e.COMMITTER_ADDRESS ?? null },
    landing: {
      depthBlocks: e.LANDING_DEPTH_BLOCKS,
      recheckMs: e.LANDING_RECHECK_MS,
      pollMs: e.LANDING_POLL_MS,
      resendSlots: e.LANDING_RESEND_SLOTS,
      manualAfterMs: e.LANDING_MANUAL_AFTER_MS,
      giveUpMs: e.LANDING_GIVE_UP_MS,
      priorityFeeCap: e.PRIORITY_FEE_CAP,
    },
    dailyLimits: { reward: e.DAILY_REWARD_LIMIT, usdc: e.DAILY_USDC_LIMIT, sol: e.DAILY_SOL_LIMIT },
    tokenAccounts: { dailyBudget: e.TOKEN_ACCOUNT_DAILY_BUDGET, minClaim: e.TOKEN_ACCOUNT_MIN_CLAIM },
    gate: { play: e.GATE === 'play', minBalance: e.GATE_MIN_BALANCE },
    priceUrl: e.PRICE_URL,
    usdcPayer: e.USDC_PAYER,
    payouts: { lanes: e.PAYOUT_LANES },
    beacon: { urls: e.DRAND_URLS, chainHash: e.DRAND_CHAIN_HASH, publicKey: e.DRAND_PUBLIC_KEY },
    draws: { leadSec: e.DRAW_LEAD_SEC, marginSec: e.DRAW_MARGIN_SEC },
  };
}

function checkDraws(e: Environment, production: boolean): void {
  const isQuicknet = e.DRAND_CHAIN_HASH === QUICKNET.chainHash;
  if (production && !isQuicknet) throw new Error(`configuration: in production DRAND_CHAIN_HASH must be quicknet's, ${QUICKNET.chainHash}`);
  if (isQuicknet && e.DRAND_PUBLIC_KEY !== QUICKNET.publicKey) throw new Error("configuration: DRAND_PUBLIC_KEY is not quicknet's");
  if (e.DRAW_MARGIN_SEC >= e.DRAW_LEAD_SEC) throw new Error('configuration: DRAW_MARGIN_SEC must be less than DRAW_LEAD_SEC');
  if (production && (e.DRAW_LEAD_SEC < LEAD_SEC || e.DRAW_MARGIN_SEC < MARGIN_SEC)) {
    throw new Error(`configuration: in production DRAW_LEAD_SEC must be at least ${LEAD_SEC} and DRAW_MARGIN_SEC at least ${MARGIN_SEC}`);
  }
}
