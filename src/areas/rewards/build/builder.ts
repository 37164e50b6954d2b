import bs58 from 'bs58';
import { allocate, type Rules, type Shares } from '#lib/allocation.ts';
import { buildTree, HASH_BYTES, hashLeaves, rootOf, WALLET_BYTES } from '#lib/merkle.ts';
import { type CurvePoint, distributionCurve } from '../curve.ts';
import { subtreeRoots } from '../tree-chunks.ts';

/** What a builder has found out of all its wallets. */
export interface Built {
  readonly wallets: number;
  readonly leaves: number;
  readonly total: bigint;
}

export interface Allocated extends Built {
  readonly points: bigint;
  readonly shares: Shares;
  readonly curve: readonly CurvePoint[];
}

/** Of one page, in its order: where each wallet goes among the leaves, and what it gets. PostgreSQL array literals. */
export interface BuiltPage {
  readonly indexes: string;
  readonly amounts: string;
}

/** A tree: its root, the hashes of its leaves, the roots of its subtrees. */
export interface BuiltTree {
  readonly root: Uint8Array;
  readonly leaves: Uint8Array;
  readonly roots: Uint8Array;
}

const NO_AMOUNTS = new BigUint64Array(0);

function keyOf(wallet: string): Uint8Array {
  const key = bs58.decode(wallet);
  if (key.length !== WALLET_BYTES) throw new Error(`${wallet} is no address: no leaf can be made of it`);
  return key;
}

/**
 * Makes an epoch of pages of wallets: amounts, leaves, tree. It holds a million wallets as text and flat numbers, and does
 * no I/O: where they are many, it works in a thread of its own.
 */
export class EpochBuilder {
  /** Addresses with commas, page by page. */
  readonly #wallets: string[] = [];
  readonly #values: BigUint64Array[] = [];
  #amounts: BigUint64Array = NO_AMOUNTS;
  #count = 0;

  /**
   * Adds a page of wallets.
   * @param wallets addresses with commas in between
   * @param values their points or amounts, likewise: whole numbers, none below 0
   */
  add(wallets: string, values: string): void {
    const numbers = BigUint64Array.from(values.split(','), BigInt);
    this.#wallets.push(wallets);
    this.#values.push(numbers);
    this.#count += numbers.length;
  }

  /** Shares a pool out by points. The wallets must have come in ascending order of their addresses. */
  allocate(rules: Rules): Allocated {
    this.#expectAscending();
    const points = new BigInt64Array(this.#flat().buffer);
    const { shares, amounts, total } = allocate(rules, points, (place) => this.#walletAt(place));
    this.#amounts = amounts;
    let sum = 0n;
    for (const own of points) sum += own;
    return { ...this.#built(total), points: sum, shares, curve: distributionCurve(amounts, rules.pool) };
  }

  /** Takes the values as amounts. */
  take(): Built {
    this.#amounts = this.#flat();
    let total = 0n;
    for (const amount of this.#amounts) total += amount;
    return this.#built(total);
  }

  /** What each page's wallets get. Those that are paid have the first indexes, in their order; the others follow. */
  pages(): BuiltPage[] {
    let at = 0;
    let paid = 0;
    let unpaid = this.#leaves();
    return this.#values.map(({ length }) => {
      const amounts = this.#amounts.subarray(at, at + length);
      at += length;
      const indexes = Array.from(amounts, (amount) => (amount > 0n ? paid++ : unpaid++));
      return { indexes: `{${indexes.join()}}`, amounts: `{${amounts.join()}}` };
    });
  }

  /** The tree of those that are paid; null when nobody is. */
  tree(epoch: number): BuiltTree | null {
    const count = this.#leaves();
    if (count === 0) return null;
    const hashes = new Uint8Array(count * HASH_BYTES);
    let at = 0;
    let index = 0;
    for (const page of this.#wallets) {
      const wallets = page.split(',');
      const amounts = this.#amounts.subarray(at, at + wallets.length);
      at += wallets.length;
      const paid = wallets.filter((_wallet, i) => (amounts[i] ?? 0n) > 0n);
      const keys = new Uint8Array(paid.length * WALLET_BYTES);
      for (const [i, wallet] of paid.entries()) keys.set(keyOf(wallet), i * WALLET_BYTES);
      const own = amounts.filter((amount) => amount > 0n);
      hashLeaves(epoch, index, keys, own, hashes.subarray(index * HASH_BYTES, (index + paid.length) * HASH_BYTES));
      index += paid.length;
    }
    const levels = buildTree(hashes);
    return { root: rootOf(levels), leaves: hashes, roots: subtreeRoots(levels) };
  }

  #built(total: bigint): Built {
    return { wallets: this.#count, leaves: this.#leaves(), total };
  }

  #leaves(): number {
    let leaves = 0;
    for (const amount of this.#amounts) if (amount > 0n) leaves++;
    return leaves;
  }

  #flat(): BigUint64Array<ArrayBuffer> {
    const flat = new BigUint64Array(this.#count);
    let at = 0;
    for (const values of this.#values) {
      flat.set(values, at);
      at += values.length;
    }
    return flat;
  }

  #walletAt(place: number): string {
    let before = 0;
    for (const [i, { length }] of this.#values.entries()) {
      if (place < before + length) return this.#wallets[i]?.split(',')[place - before] ?? '';
      before += length;
    }
    return '';
  }

  /** The indexes of leaves, and who of equal remainders is rounded up, follow from the order. */
  #expectAscending(): void {
    let last = '';
    for (const page of this.#wallets) {
      for (const wallet of page.split(',')) {
        if (wallet <= last) throw new Error(`wallets must ascend: ${wallet} came after ${last}`);
        last = wallet;
      }
    }
  }
}
