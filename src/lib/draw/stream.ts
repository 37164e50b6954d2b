import { hmac } from '@noble/hashes/hmac.js';
import { HASH_BYTES, sha256, u64, utf8 } from './bytes.ts';

/** Number of different u64 values. */
const RAW_VALUES = 2n ** 64n;

/**
 * Returns a function that computes HMAC-SHA256 (RFC 2104) of `label ‖ number` with a key of 32 bytes. The hash state after the key and the label is
 * computed only once, which halves the time of a call.
 */
export function keyedHash(key: Uint8Array, label: string): (number: Uint8Array) => Uint8Array {
  if (key.length !== HASH_BYTES) throw new Error('a key must be 32 bytes long');
  const begun = hmac.create(sha256, key).update(utf8(label));
  return (number) => begun.clone().update(number).digest();
}

/** A drawn integer with all intermediate values. Raw values are u64 as decimal text. */
export interface Draw {
  /** Counter of the accepted raw value. The counters right before it belong to the raw values that were rejected. */
  counter: number;
  /** The value is from 0 to `bound` − 1. */
  bound: number;
  raw: string;
  rejected: string[];
  value: number;
}

/** Draws an integer from 0 to `bound` − 1; all values are equally likely. */
export type Integers = (bound: number) => Draw;

/**
 * Draws integers from a sequence of raw values. Counters begin at 0, and each raw value is used once. With n = `bound`, a raw value ≥ 2^64 − (2^64
 * mod n) is rejected and the next raw value is tried. The result is the first accepted raw value mod n.
 * @param rawOf function that returns the raw value of a counter, a u64
 */
export function integersFrom(rawOf: (counter: number) => bigint): Integers {
  let next = 0;
  return (bound) => {
    if (!Number.isSafeInteger(bound) || bound < 1) throw new Error(`the bound of an integer must be at least 1, not ${bound}`);
    const n = BigInt(bound);
    const limit = RAW_VALUES - (RAW_VALUES % n);
    const rejected: string[] = [];
    for (;;) {
      const counter = next++;
      const raw = rawOf(counter);
      if (raw < limit) return { counter, bound, raw: raw.toString(), rejected, value: Number(raw % n) };
      rejected.push(raw.toString());
    }
  };
}

/**
 * Draws integers from a key and a label. The raw value of a counter is the u64 (little-endian) in the first 8 bytes of HMAC-SHA256(key,
 * label ‖ counter u64); the other bytes are not used.
 */
export function stream(key: Uint8Array, label: string): Integers {
  const hash = keyedHash(key, label);
  return integersFrom((counter) => new DataView(hash(u64(counter)).buffer).getBigUint64(0, true));
}
