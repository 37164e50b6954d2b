import { base58Of, type Key } from '../keys.ts';
import type { Place } from './journal.ts';
import type { TransactionError } from './transaction-errors.ts';

/** A transaction in a block; what it did stands in the journal. */
export interface Landed {
  readonly signature: string;
  readonly slot: number;
  readonly err: TransactionError | null;
  readonly memo: string | null;
  /** Millionths of a lamport a compute unit. */
  readonly price: bigint;
  readonly keys: readonly Key[];
  readonly place: Place;
}

/** Transactions by signature, by block and by address, in the order in which they landed. */
export class Ledger {
  readonly #bySignature = new Map<string, Landed>();
  readonly #bySlot = new Map<number, Landed[]>();
  readonly #byAddress = new Map<Key, Landed[]>();
  /** Slots with transactions, in order. */
  readonly #slots: number[] = [];

  get count(): number {
    return this.#bySignature.size;
  }

  add(landed: Landed): void {
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

  find(signature: string): Landed | undefined {
    return this.#bySignature.get(signature);
  }

  block(slot: number): readonly Landed[] {
    return this.#bySlot.get(slot) ?? [];
  }

  of(address: Key): readonly Landed[] {
    return this.#byAddress.get(address) ?? [];
  }

  /** Takes out everything from a slot on, and returns it in order. */
  rollBack(slot: number): Landed[] {
    const undone: Landed[] = [];
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

/** Whether a transaction names an account. */
export function mentions(keys: readonly Key[], address: string): boolean {
  return keys.some((key) => base58Of(key) === address);
}
