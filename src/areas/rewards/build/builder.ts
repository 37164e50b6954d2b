import bs58 from 'bs58';
import { allocate, type Rules, type Shares } from '#lib/allocation.ts';
import { buildTree, HASH_BYTES, hashLeaves, rootOf, WALLET_BYTES } from '#lib/merkle.ts';
import { subtreeRoots } from '../epochs/tree-chunks.ts';
import { type CurvePoint, distributionCurve } from '../projection/curve.ts';

/** Number of wallets and leaves of an epoch, and the sum of the leaf amounts in base units. */
export interface BuildResult {
  readonly wallets: number;
  readonly leaves: number;
  readonly total: bigint;
}

/** The result of allocating a pool to wallets by their points. */
interface AllocationResult extends BuildResult {
  readonly points: bigint;
  readonly shares: Shares;
  readonly curve: readonly CurvePoint[];
}

/** Leaf indexes and amounts of the wallets of one page, in the order of the page, as PostgreSQL array literals. */
export interface BuiltPage {
  readonly indexes: string;
  readonly amounts: string;
}

/** A Merkle tree: its root, the hashes of its leaves, and the roots of its subtrees. */
export interface BuiltTree {
  readonly root: Uint8Array;
  readonly leaves: Uint8Array;
  readonly roots: Uint8Array;
}

const NO_AMOUNTS = new BigUint64Array(0);

function walletKey(wallet: string): Uint8Array {
  const key = bs58.decode(wallet);
  if (key.length !== WALLET_BYTES) throw new Error(`wallet must be a base58 address of 32 bytes, not ${wallet}`);
  return key;
}

/**
 * Builds the amounts, the leaves and the Merkle tree of an epoch from pages of wallets. The builder holds up to a million wallets in memory, as text
 * and typed arrays. It does no I/O, so it can run in a worker thread.
 */
export class EpochBuilder {
  /** One entry per page: comma-separated wallet addresses. */
  readonly #wallets: string[] = [];
  readonly #values: BigUint64Array[] = [];
  #amounts: BigUint64Array = NO_AMOUNTS;
  #count = 0;

  /**
   * Adds a page of wallets.
   * @param wallets comma-separated addresses
   * @param values comma-separated points or amounts of these wallets: whole numbers of at least 0
   */
  add(wallets: string, values: string): void {
    const numbers = BigUint64Array.from(values.split(','), BigInt);
    this.#wallets.push(wallets);
    this.#values.push(numbers);
    this.#count += numbers.length;
  }

  /**
   * Allocates the pool in `rules` to the added wallets by their points. Precondition: the wallets were added in ascending order of their addresses.
   */
  allocate(rules: Rules): AllocationResult {
    this.#expectAscending();
    const points = new BigInt64Array(this.#flat().buffer);
    const { shares, amounts, total } = allocate(rules, points, (position) => this.#walletAt(position));
    this.#amounts = amounts;
    let sum = 0n;
    for (const value of points) sum += value;
    return { ...this.#built(total), points: sum, shares, curve: distributionCurve(amounts, rules.pool) };
  }

  /**
   * Uses the values that `add` received as the amounts of the wallets. An import gives amounts instead of points, so the computation of an import
   * calls this method instead of `allocate`.
   */
  useValuesAsAmounts(): BuildResult {
    this.#amounts = this.#flat();
    let total = 0n;
    for (const amount of this.#amounts) total += amount;
    return this.#built(total);
  }

  /**
   * Returns the leaf indexes and amounts of each page. Paid wallets (amount above 0) get the first indexes, in the order in which the wallets were
   * added. The unpaid wallets get the next indexes.
   */
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

  /** Builds the Merkle tree of the paid wallets. Returns null when no wallet is paid. */
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
      for (const [i, wallet] of paid.entries()) keys.set(walletKey(wallet), i * WALLET_BYTES);
      const own = amounts.filter((amount) => amount > 0n);
      hashLeaves(epoch, index, keys, own, hashes.subarray(index * HASH_BYTES, (index + paid.length) * HASH_BYTES));
      index += paid.length;
    }
    const levels = buildTree(hashes);
    return { root: rootOf(levels), leaves: hashes, roots: subtreeRoots(levels) };
  }

  #built(total: bigint): BuildResult {
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

  #walletAt(position: number): string {
    let before = 0;
    for (const [i, { length }] of this.#values.entries()) {
      if (position < before + length) return this.#wallets[i]?.split(',')[position - before] ?? '';
      before += length;
    }
    return '';
  }

  /**
   * Throws when the wallets are not in ascending order. The order determines the leaf index of each wallet. If the amounts of two wallets have the
   * same remainder before rounding, the order also determines which amount is rounded up.
   */
  #expectAscending(): void {
    let last = '';
    for (const page of this.#wallets) {
      for (const wallet of page.split(',')) {
        if (wallet <= last) throw new Error(`wallets must be added in ascending order, but ${wallet} came after ${last}`);
        last = wallet;
      }
    }
  }
}
