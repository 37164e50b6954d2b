import type { Key } from '../keys.ts';
import type { FeeHistory } from './fee-history.ts';
import { computeUnitLimit, computeUnitPrice } from './fees.ts';
import { randomFrom } from './random.ts';
import type { TransactionError } from './transaction-errors.ts';
import { mayWrite, type WireTransaction } from './wire.ts';

/** The competition for the blocks of a congested cluster. Prices are micro-lamports per compute unit. */
export interface Market {
  /** Compute units per block, and per block for the transactions that write the same account. Mainnet: 60 and 12 million, 20 times the defaults. */
  readonly blockUnits: number;
  readonly accountUnits: number;
  /** Compute units that other senders request per slot, as a multiple of `blockUnits`: with 2, the blocks are full at the median price. */
  readonly load: number;
  /** Compute units of each transaction of the other senders. */
  readonly otherUnits: number;
  /** Median of their prices, and standard deviation of the logarithm of their prices. */
  readonly median: number;
  readonly spread: number;
  /** The factor by which the median rises above and falls below `median`, in waves of `waveSlots` slots. */
  readonly wave: number;
  readonly waveSlots: number;
  /** Accounts that the given share of the other senders' transactions writes. */
  readonly hot: readonly { readonly account: Key; readonly share: number }[];
  readonly seed: number;
}

/** The chain whose blocks are filled. */
export interface BlockChain {
  readonly clock: { hasBlock(slot: number): boolean };
  readonly fees: FeeHistory;
  /** Returns the reason why a transaction cannot land in a slot; null if it can land. */
  rejectionReason(tx: WireTransaction, slot: number, seen: number): TransactionError | null;
  /** Executes a transaction in the block of a slot. Returns the reason if the transaction did not land, else null. */
  land(tx: WireTransaction, slot: number): TransactionError | null;
}

/** A transaction that competes for a block. `tx` is null for a transaction of other senders, which the cluster does not execute. */
interface Bid {
  readonly price: number;
  readonly units: number;
  readonly writable: readonly Key[];
  readonly tx: WireTransaction | null;
}

/** Maximum number of waiting transactions. Beyond it, the one with the lowest price is dropped. */
const MAX_WAITING = 10_000;

/**
 * Fills the blocks of a congested cluster. The waiting transactions compete with the transactions of other senders: the highest prices land first, until
 * the compute units of the block or of a written account are used up. A transaction waits until it lands or its blockhash expires. Other senders
 * are simulated: their transactions are prices without content, and the localnet discards those that do not land in their slot.
 */
export class Congestion {
  readonly #chain: BlockChain;
  readonly #market: Market;
  /** The last slot whose block is full. */
  #filled: number;
  #waiting: Bid[] = [];

  constructor(chain: BlockChain, market: Market, slot: number) {
    this.#chain = chain;
    this.#market = market;
    this.#filled = slot - 1;
  }

  get market(): Market {
    return this.#market;
  }

  /** Number of waiting transactions. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Adds a transaction that a node received. A transaction that waits already is ignored. */
  add(tx: WireTransaction): void {
    if (this.#waiting.some((bid) => bid.tx?.signature === tx.signature)) return;
    const writable = tx.keys.filter((_, index) => mayWrite(tx, index));
    this.#waiting.push({ price: Number(computeUnitPrice(tx)), units: Number(computeUnitLimit(tx)), writable, tx });
    this.#waiting.sort(byPrice);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.pop();
  }

  /** Fills the blocks of all slots before `slot`. Calls `before` with each of these slots first. */
  fillUntil(slot: number, before: (slot: number) => void): void {
    while (this.#filled < slot - 1) {
      this.#filled++;
      before(this.#filled);
      if (this.#chain.clock.hasBlock(this.#filled)) this.#fill(this.#filled);
    }
  }

  /** Removes and returns the waiting transactions. */
  drain(): WireTransaction[] {
    const waiting = this.#waiting.flatMap(({ tx }) => tx ?? []);
    this.#waiting = [];
    return waiting;
  }

  #fill(slot: number): void {
    const { blockUnits, accountUnits } = this.#market;
    const used = new Map<Key, number>();
    let usedOfBlock = 0;
    const rest: Bid[] = [];
    for (const bid of [...this.#waiting, ...this.#others(slot)].sort(byPrice)) {
      const { price, units, writable, tx } = bid;
      if (tx && this.#chain.rejectionReason(tx, slot, slot - 1) !== null) continue;
      // A bid that does not fit makes the block or the account full, so that no cheaper bid fills the gap. On a real cluster there are enough bids for it.
      if (usedOfBlock + units > blockUnits) usedOfBlock = blockUnits;
      const full = writable.filter((key) => (used.get(key) ?? 0) + units > accountUnits);
      for (const key of full) used.set(key, accountUnits);
      if (usedOfBlock === blockUnits || full.length > 0) {
        if (tx) rest.push(bid);
        continue;
      }
      if (tx === null) this.#chain.fees.record(slot, price, writable);
      else if (this.#chain.land(tx, slot) !== null) continue;
      usedOfBlock += units;
      for (const key of writable) used.set(key, (used.get(key) ?? 0) + units);
    }
    this.#waiting = rest;
  }

  /** Returns the transactions that other senders send in a slot. The same seed and slot yield the same ones. */
  #others(slot: number): Bid[] {
    const { blockUnits, load, otherUnits, median, spread, wave, waveSlots, hot, seed } = this.#market;
    const random = randomFrom(seed * 1_000_003 + slot);
    const level = median * wave ** Math.sin((2 * Math.PI * slot) / waveSlots);
    return Array.from({ length: Math.round((load * blockUnits) / otherUnits) }, () => {
      // The Box–Muller transform of two uniform numbers is a normal one.
      const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      const price = Math.max(1, Math.round(level * Math.exp(spread * normal)));
      return { price, units: otherUnits, writable: hot.flatMap(({ account, share }) => (random() < share ? [account] : [])), tx: null };
    });
  }
}

/** Orders bids by price, the highest first. */
const byPrice = (a: Bid, b: Bid): number => b.price - a.price;
