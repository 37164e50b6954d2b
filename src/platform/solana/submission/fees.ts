import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';

/** Fee per signature, lamports. */
const SIGNATURE_FEE = 5_000n;
/** Minimum fee of a transaction, lamports. */
export const MINIMUM_FEE = SIGNATURE_FEE;
/** Maximum compute units per transaction. */
export const MAX_UNITS = 1_400_000;
/**
 * The limit of compute units is: units used in the simulation × UNITS_MARGIN + UNITS_SPARE. It exceeds the simulated number, because the units that a
 * transaction uses differ from slot to slot.
 */
const UNITS_MARGIN = 1.2;
const UNITS_SPARE = 3_000;

/** Maximum age of a blockhash when a transaction is signed with it, ms. A blockhash is valid for 150 blocks. */
const BLOCKHASH_AGE_MS = 1_000;
/** Maximum age of the cached priority price, ms. */
const FEES_AGE_MS = 5_000;

/** A blockhash, the last block height at which it is valid, and the slot of the RPC node's response. */
export interface RecentBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly slot: number;
}

const blockhashes = perApp((app) => ttlCache<'', RecentBlockhash>(BLOCKHASH_AGE_MS, () => app.chain.node.latestBlockhash('confirmed')));
const prices = perApp((app) => ttlCache<'', number>(FEES_AGE_MS, async () => await readRecentPrice(app)));

/** Returns the median priority price of recent blocks, millionths of a lamport per compute unit. */
async function readRecentPrice(app: App): Promise<number> {
  const sorted = (await app.chain.node.recentPrices()).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Returns the latest confirmed blockhash, cached for one second. */
export const recentBlockhash = (app: App): Promise<RecentBlockhash> => app.state(blockhashes).get('');

/**
 * Returns the priority price of an attempt: the recent price, doubled for each earlier attempt of the transaction, at most `PRIORITY_FEE_CAP`. Unit:
 * millionths of a lamport per compute unit.
 */
export async function priorityPrice(app: App, attemptsBefore: number): Promise<number> {
  const recent = await app.state(prices).get('');
  return Math.min(app.config.chain.submission.priorityFeeCap, Math.max(recent, attemptsBefore > 0 ? 1_000 : 0) * 2 ** Math.min(attemptsBefore, 10));
}

/**
 * Returns the limit of compute units for a transaction.
 * @param used the compute units that the simulation of the transaction used
 */
export const unitsFor = (used: number): number => Math.min(MAX_UNITS, Math.ceil(used * UNITS_MARGIN) + UNITS_SPARE);

/** Returns the fee of an attempt in lamports: the fee for its signatures plus the priority fee. */
export const feeOf = (signatures: number, units: number, price: number): bigint =>
  BigInt(signatures) * SIGNATURE_FEE + (BigInt(units) * BigInt(price) + 999_999n) / 1_000_000n;
