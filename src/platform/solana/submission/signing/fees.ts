import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Address } from '../../primitives.ts';
import { marketPrice, readPrices, type SlotPrices } from './prices.ts';

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
/** Maximum age of cached prices, ms: five slots. */
const PRICES_AGE_MS = 2_000;
/** Maximum age of the cached prices of all pending attempts, ms. The prices of this process are known at once; see `rememberPrice`. */
const OWN_AGE_MS = 2_000;
/** Maximum requests per second for the prices of the accounts of a transaction. Beyond it, the prices of whole blocks are used. */
const MAX_REQUESTS_PER_SECOND = 5;

/** The factor by which each step raises the price, and the maximum number of steps. */
const STEP_FACTOR = 1.5;
const MAX_STEPS = 10;

/** A blockhash, the last block height at which it is valid, and the slot of the RPC node's response. */
export interface RecentBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly slot: number;
}

const selectOwnPrices = statement<{ price: number }>(
  'select_prices_of_pending_attempts',
  `select distinct price::float8 as price from chain_attempts where state in ('signed', 'sent', 'confirmed') and price is not null`,
);

const blockhashes = perApp((app) => ttlCache<'', RecentBlockhash>(BLOCKHASH_AGE_MS, () => app.chain.node.latestBlockhash('confirmed')));
const blockPrices = perApp((app) => ttlCache<'', SlotPrices>(PRICES_AGE_MS, () => readPrices(app.chain.node, 'agave', [])));
const ownPrices = perApp((app) =>
  ttlCache<'', ReadonlySet<number>>(OWN_AGE_MS, async () => new Set((await app.db.query(selectOwnPrices)).map(({ price }) => price))),
);
/** The time at which this process last signed an attempt with each price. Has the prices that the cache of `ownPrices` may not have yet. */
const signedPrices = perApp(() => new Map<number, number>());
/** The requests for prices of accounts that are younger than `PRICES_AGE_MS`, oldest first. Their number is bounded by `MAX_REQUESTS_PER_SECOND`. */
const accountPrices = perApp(() => new Map<string, { readonly at: number; readonly prices: Promise<SlotPrices> }>());

/** Returns the latest confirmed blockhash, cached for one second. */
export const recentBlockhash = (app: App): Promise<RecentBlockhash> => app.state(blockhashes).get('');

/**
 * Returns the priority price of an attempt, millionths of a lamport per compute unit:
 *
 *   price = min(PRIORITY_FEE_CAP, max(PRIORITY_FEE_FLOOR, market + 1) × 1.5 ^ steps)
 *
 * `market` is the price at which a transaction that writes the same accounts would have landed in three of four recent slots; see `marketPrice`. The
 * unit that is added keeps own prices apart from prices that many others pay, such as 10,000.
 * @param accounts the accounts that the transaction writes
 * @param steps number of earlier attempts, plus the urgency of the transaction
 */
export async function priorityPrice(app: App, accounts: readonly Address[], steps: number): Promise<number> {
  const { floor, cap } = app.config.chain.submission.priorityFee;
  const market = await readMarket(app, accounts);
  return Math.min(cap, Math.ceil(Math.max(floor, market === 0 ? 0 : market + 1) * STEP_FACTOR ** Math.min(steps, MAX_STEPS)));
}

/** Remembers the price of an attempt that this process has just committed. */
export function rememberPrice(app: App, price: number): void {
  app.state(signedPrices).set(price, performance.now());
}

/** Returns the prices of the pending attempts. The price of an attempt may be missing if another process signed the attempt within the last `OWN_AGE_MS`. */
async function readOwnPrices(app: App): Promise<ReadonlySet<number>> {
  const pending = await app.state(ownPrices).get('');
  const signed = app.state(signedPrices);
  for (const [price, at] of signed) if (performance.now() - at > 2 * OWN_AGE_MS) signed.delete(price);
  return new Set([...pending, ...signed.keys()]);
}

async function readMarket(app: App, accounts: readonly Address[]): Promise<number> {
  try {
    const [prices, own] = await Promise.all([pricesOf(app, accounts), readOwnPrices(app)]);
    const needsBlocks = [...prices.values()].some((price) => own.has(price));
    return marketPrice(prices, needsBlocks ? await app.state(blockPrices).get('') : prices, own);
  } catch (err) {
    // Also an error of the request itself, so that a provider that changes or disables the method stops no transaction.
    app.log.warn({ err }, 'the RPC node returns no recent fees; the transaction is signed with the lowest fee of its step');
    return 0;
  }
}

/** Returns the prices for a set of accounts, cached for some slots. */
function pricesOf(app: App, accounts: readonly Address[]): Promise<SlotPrices> {
  const cached = app.state(accountPrices);
  const now = performance.now();
  for (const [key, { at }] of cached) if (now - at >= PRICES_AGE_MS) cached.delete(key);
  const key = accounts.join();
  const found = cached.get(key);
  if (found) return found.prices;
  const recent = [...cached.values()].filter(({ at }) => now - at < 1_000);
  if (recent.length >= MAX_REQUESTS_PER_SECOND) return app.state(blockPrices).get('');
  const prices = readPrices(app.chain.node, app.config.chain.submission.priorityFee.api, accounts);
  cached.set(key, { at: now, prices });
  // A failure is cached too, so that a node that does not answer is not asked for every transaction.
  prices.catch(() => undefined);
  return prices;
}

/**
 * Returns the limit of compute units for a transaction.
 * @param used the compute units that the simulation of the transaction used
 */
export const unitsFor = (used: number): number => Math.min(MAX_UNITS, Math.ceil(used * UNITS_MARGIN) + UNITS_SPARE);

/** Returns the fee of an attempt in lamports: the fee for its signatures plus the priority fee. */
export const feeOf = (signatures: number, units: number, price: number): bigint =>
  BigInt(signatures) * SIGNATURE_FEE + (BigInt(units) * BigInt(price) + 999_999n) / 1_000_000n;
