import { z } from 'zod';
import type { PriceApi } from '../../config.ts';
import type { Address } from '../../primitives.ts';
import type { RpcNode } from '../../rpc-node.ts';

/** Number of newest slots whose prices are used. Own attempts stay pending for longer, so their prices can be recognized; see `marketPrice`. */
const SLOTS = 30;
/** The part of the slots whose price is at most the market price. */
const SHARE_OF_SLOTS = 0.75;
/** Maximum number of accounts per request. RPC nodes set this limit. */
const MAX_ACCOUNTS = 128;
/** The percentile of a slot's landed transactions that is asked of a node with the parameter `percentile`, hundredths of a percent. */
const PERCENTILE = 2_500;
/** JSON-RPC error codes of a node that does not have a method, or not with these parameters. */
const REFUSED_CODES = new Set([-32601, -32602]);

/** Prices by slot, millionths of a lamport per compute unit. */
export type SlotPrices = ReadonlyMap<number, number>;

const Fees = z.array(z.object({ slot: z.number(), prioritizationFee: z.number() }));
const Estimate = z.object({ priorityFeeEstimate: z.number() });

const isRefused = (error: unknown): boolean => Error.isError(error) && 'code' in error && REFUSED_CODES.has(Number(error.code));

/**
 * Reads the prices that landed in recent slots. For each slot, Agave returns the highest of: the lowest price in the block, and, for each of the
 * accounts that a transaction of the block wrote, the lowest price of the transactions that wrote it. A node with the parameter `percentile` returns this
 * percentile in place of the lowest price. Helius returns one estimate, which is stored as the price of one slot.
 * @param accounts the accounts that the transaction writes; empty for the prices of whole blocks
 */
export async function readPrices(node: RpcNode, api: PriceApi, accounts: readonly Address[]): Promise<SlotPrices> {
  const keys = accounts.slice(0, MAX_ACCOUNTS).map((account) => account.toBase58());
  if (api === 'agave') return await readFees(node, [keys]);
  try {
    if (api === 'triton') return await readFees(node, [keys, { percentile: PERCENTILE }]);
    const estimate = await node.call('getPriorityFeeEstimate', [{ accountKeys: keys, options: { priorityLevel: 'Medium' } }]);
    return new Map([[0, Math.ceil(Estimate.parse(estimate).priorityFeeEstimate)]]);
  } catch (error) {
    if (isRefused(error)) return await readFees(node, [keys]);
    throw error;
  }
}

async function readFees(node: RpcNode, params: readonly unknown[]): Promise<SlotPrices> {
  const fees = Fees.parse(await node.call('getRecentPrioritizationFees', params));
  const newest = fees.sort((a, b) => b.slot - a.slot).slice(0, SLOTS);
  return new Map(newest.map(({ slot, prioritizationFee }) => [slot, prioritizationFee]));
}

/**
 * Returns the price at which a transaction would have landed in `SHARE_OF_SLOTS` of the recent slots; 0 without a known price.
 *
 * A price that this service pays itself says nothing about the market: as long as only this service writes an account, the lowest price for the account
 * is the service's own one, so the service would follow its own raised prices. For a slot with such a price, the price of the whole block is used; if it
 * is an own price too, the slot is left out.
 * @param prices the prices for the accounts of the transaction
 * @param blocks the prices of whole blocks
 * @param own the prices of the pending attempts
 */
export function marketPrice(prices: SlotPrices, blocks: SlotPrices, own: ReadonlySet<number>): number {
  const known = [...prices].flatMap(([slot, price]) => {
    const foreign = own.has(price) ? blocks.get(slot) : price;
    return foreign === undefined || own.has(foreign) ? [] : [foreign];
  });
  known.sort((a, b) => a - b);
  return known[Math.floor(known.length * SHARE_OF_SLOTS)] ?? 0;
}
