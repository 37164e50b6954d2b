import { createHash } from 'node:crypto';
import bs58 from 'bs58';
import { type Key, keyOf } from '../keys.ts';

/** A fork that replaced the blocks of the slots `from` to `to`. The new blocks have other hashes than the replaced blocks. */
export interface Fork {
  readonly from: number;
  readonly to: number;
  readonly id: number;
}

/**
 * Computes the hash of a block from the cluster's seed, the slot and the newest fork that replaced the block, so that no hash is stored. The last 6
 * bytes of a hash encode the slot (XOR with a keyed hash of the other 26 bytes), so that `slotOf` can decode the slot.
 */
export class Blockhashes {
  readonly #seed: Buffer;
  readonly #forks: Fork[] = [];

  constructor(seed: Buffer) {
    this.#seed = seed;
  }

  addFork(fork: Fork): void {
    this.#forks.push(fork);
  }

  get forks(): number {
    return this.#forks.length;
  }

  of(slot: number): Key {
    const head = this.#hash(`block ${slot} ${this.#forkOf(slot)}`).subarray(0, 26);
    const tail = Buffer.alloc(6);
    tail.writeUIntBE(slot, 0, 6);
    return keyOf(Buffer.concat([head, xor(tail, this.#hash(head))]));
  }

  textOf(slot: number): string {
    return bs58.encode(Buffer.from(this.of(slot), 'latin1'));
  }

  /** Returns the slot of the block with this hash; null if no block of the current fork has this hash. */
  slotOf(hash: Key): number | null {
    const bytes = Buffer.from(hash, 'latin1');
    const slot = xor(bytes.subarray(26), this.#hash(bytes.subarray(0, 26))).readUIntBE(0, 6);
    return this.of(slot) === hash ? slot : null;
  }

  #forkOf(slot: number): number {
    return this.#forks.findLast(({ from, to }) => from <= slot && slot <= to)?.id ?? 0;
  }

  #hash(data: string | Buffer): Buffer {
    return createHash('sha256').update(this.#seed).update(data).digest();
  }
}

function xor(bytes: Buffer, mask: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, i) => byte ^ (mask[i] ?? 0)));
}
