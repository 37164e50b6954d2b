import { ComputeBudgetProgram, type TransactionInstruction } from '@solana/web3.js';
import { ttlCache } from '#lib/ttl-cache.ts';
import type { App } from '#platform/app.ts';
import { rpc } from '../solana.ts';

/** Lamports per signature. */
export const SIGNATURE_FEE = 5_000n;
/** Units that a transaction may have; and what a limit is above the simulated use, which may differ by the slot. */
export const MAX_UNITS = 1_400_000;
const UNITS_MARGIN = 1.2;
const UNITS_SPARE = 3_000;

/** How old a blockhash may be when it is signed; it lives for 150 blocks. And the recent fees. */
const BLOCKHASH_AGE_MS = 1_000;
const FEES_AGE_MS = 5_000;

/** A blockhash, the last block height that takes it, and the slot at which it was read. */
export interface RecentBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly slot: number;
}

/** What all transactions of a process share: the newest blockhash and the price of priority. */
interface Shared {
  readonly blockhash: { get(key: ''): Promise<RecentBlockhash> };
  readonly price: { get(key: ''): Promise<number> };
}
const shared = new WeakMap<App, Shared>();

function sharedOf(app: App): Shared {
  const known = shared.get(app);
  if (known) return known;
  const made: Shared = {
    blockhash: ttlCache(BLOCKHASH_AGE_MS, async () => {
      const { context, value } = await rpc(() => app.chain.connection.getLatestBlockhashAndContext('confirmed'));
      return { ...value, slot: context.slot };
    }),
    price: ttlCache(FEES_AGE_MS, async () => await recentPrice(app)),
  };
  shared.set(app, made);
  return made;
}

/** The median of what recent blocks took, millionths of a lamport per compute unit. */
async function recentPrice(app: App): Promise<number> {
  const fees = await rpc(() => app.chain.connection.getRecentPrioritizationFees());
  const sorted = fees.map((fee) => fee.prioritizationFee).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The newest confirmed blockhash, at most a second old. */
export const recentBlockhash = (app: App): Promise<RecentBlockhash> => sharedOf(app).blockhash.get('');

/**
 * The price that an attempt offers: the recent one, twice as much with each attempt before it, within the configured cap.
 * Millionths of a lamport per compute unit.
 */
export async function priorityPrice(app: App, attemptsBefore: number): Promise<number> {
  const recent = await sharedOf(app).price.get('');
  return Math.min(app.config.chain.landing.priorityFeeCap, Math.max(recent, attemptsBefore > 0 ? 1_000 : 0) * 2 ** Math.min(attemptsBefore, 10));
}

/** The compute limit for what the simulation used. */
export const unitsFor = (used: number): number => Math.min(MAX_UNITS, Math.ceil(used * UNITS_MARGIN) + UNITS_SPARE);

/** What comes before the instructions of a draft. A price of 0 is not worth its bytes. */
export function computeBudget(units: number, price: number): TransactionInstruction[] {
  const limit = ComputeBudgetProgram.setComputeUnitLimit({ units });
  return price === 0 ? [limit] : [limit, ComputeBudgetProgram.setComputeUnitPrice({ microLamports: price })];
}

/** What an attempt costs besides what its instructions move, lamports. */
export const feeOf = (signatures: number, units: number, price: number): bigint =>
  BigInt(signatures) * SIGNATURE_FEE + (BigInt(units) * BigInt(price) + 999_999n) / 1_000_000n;
