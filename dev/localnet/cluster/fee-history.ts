import type { Key } from '../keys.ts';

/** Number of newest slots for which prices are kept. */
const SLOTS = 150;

/** The lowest price in a block, and for each account the lowest price of the transactions that write it. */
interface BlockPrices {
  lowest: number;
  readonly byAccount: Map<Key, number>;
}

/** The lowest compute unit prices that landed in the newest blocks. It begins empty after a restart, as on a real node. */
export class FeeHistory {
  readonly #blocks = new Map<number, BlockPrices>();

  /**
   * Records a transaction of a block.
   * @param writable the accounts that the transaction writes
   */
  record(slot: number, price: number, writable: readonly Key[]): void {
    const block = this.#blocks.get(slot) ?? this.#add(slot);
    block.lowest = Math.min(block.lowest, price);
    for (const key of writable) block.byAccount.set(key, Math.min(block.byAccount.get(key) ?? price, price));
  }

  /** Returns the price of a slot as Agave does: the highest of the block's lowest price and of the lowest price for each account; 0 for an empty block. */
  priceOf(slot: number, accounts: readonly Key[]): number {
    const block = this.#blocks.get(slot);
    return block ? Math.max(block.lowest, ...accounts.map((key) => block.byAccount.get(key) ?? 0)) : 0;
  }

  /** Returns the lowest price in the block of a slot; null for an empty block. */
  lowestOf(slot: number): number | null {
    return this.#blocks.get(slot)?.lowest ?? null;
  }

  /** Forgets the blocks from `slot` on. */
  rollBack(slot: number): void {
    for (const at of this.#blocks.keys()) if (at >= slot) this.#blocks.delete(at);
  }

  #add(slot: number): BlockPrices {
    const block: BlockPrices = { lowest: Number.POSITIVE_INFINITY, byAccount: new Map() };
    this.#blocks.set(slot, block);
    for (const at of this.#blocks.keys()) if (at <= slot - SLOTS) this.#blocks.delete(at);
    return block;
  }
}
