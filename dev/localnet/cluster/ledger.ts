import type { Key } from '../keys.ts';
import type { JournalPosition } from './journal.ts';
import type { TransactionError } from './transaction-errors.ts';

/** A transaction that is in a block. The journal stores the transaction's bytes and its `meta`. */
export interface LandedTransaction {
  readonly signature: string;
  readonly slot: number;
  readonly err: TransactionError | null;
  readonly memo: string | null;
  /** Price of a compute unit, micro-lamports. */
  readonly price: bigint;
  readonly keys: readonly Key[];
  readonly position: JournalPosition;
}

/** Index of the landed transactions by signature, block and address. Each list is in the order of landing. */
export class Ledger {
  readonly #bySignature = new Map<string, LandedTransaction>();
  readonly #bySlot = new Map<number, LandedTransaction[]>();
  readonly #byAddress = new Map<Key, LandedTransaction[]>();
  /** Slots that have transactions, in ascending order. */
  readonly #slots: number[] = [];

  get count(): number {
    return this.#bySignature.size;
  }

  add(landed: LandedTransaction): void {
    this.#bySignature.set(landed.signature, landed);
    const block = this.#bySlot.get(landed.slot);
    if (block) block.push(landed);
    else {
      this.#bySlot.set(landed.slot, [landed]);
      this.#slots.push(landed.slot);
    }
    for (const key of new Set(landed.keys)) {
      const list = this.#byAddress.get(key);
      if (list) list.push(landed);
      else this.#byAddress.set(key, [landed]);
    }
  }

  find(signature: string): LandedTransaction | undefined {
    return this.#bySignature.get(signature);
  }

  block(slot: number): readonly LandedTransaction[] {
    return this.#bySlot.get(slot) ?? [];
  }

  of(address: Key): readonly LandedTransaction[] {
    return this.#byAddress.get(address) ?? [];
  }

  /**
   * Removes all transactions that landed in `slot` or later.
   * @returns the removed transactions in the order of landing
   */
  rollBack(slot: number): LandedTransaction[] {
    const undone: LandedTransaction[] = [];
    for (let last = this.#slots.at(-1); last !== undefined && last >= slot; last = this.#slots.at(-1)) {
      this.#slots.pop();
      undone.unshift(...(this.#bySlot.get(last) ?? []));
      this.#bySlot.delete(last);
    }
    for (const landed of undone) {
      this.#bySignature.delete(landed.signature);
      for (const key of new Set(landed.keys)) {
        const list = this.#byAddress.get(key);
        while (list?.length && (list.at(-1)?.slot ?? -1) >= slot) list.pop();
      }
    }
    return undone;
  }
}
