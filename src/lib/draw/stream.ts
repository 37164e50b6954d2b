import { hash } from 'node:crypto';
import { HASH_BYTES, utf8 } from './bytes.ts';

/** Block size of SHA-256, bytes. */
const BLOCK_BYTES = 64;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
const RAW_BYTES = 8;
/** Number of different u64 values. */
const RAW_VALUES = 2n ** 64n;

/**
 * Returns a function that computes HMAC-SHA256 (RFC 2104) of `label ‖ number` with a key of 32 bytes. The two padded keys of HMAC are computed only
 * once, so one call takes a tenth of the time that an Hmac object needs.
 * @param numberBytes byte length of the number: 4 for u32, 8 for u64
 * @returns a function that returns the hash, hex
 */
export function keyedHash(key: Uint8Array, label: string, numberBytes: 4 | 8): (number: number) => string {
  if (key.length !== HASH_BYTES) throw new Error('a key must be 32 bytes long');
  const prefix = utf8(label);
  const numberAt = BLOCK_BYTES + prefix.length;
  const inner = Buffer.allocUnsafe(numberAt + numberBytes).fill(INNER_PAD);
  const outer = Buffer.allocUnsafe(BLOCK_BYTES + HASH_BYTES).fill(OUTER_PAD);
  for (let i = 0; i < HASH_BYTES; i++) {
    const byte = key[i] ?? 0;
    inner[i] = byte ^ INNER_PAD;
    outer[i] = byte ^ OUTER_PAD;
  }
  inner.set(prefix, BLOCK_BYTES);
  return (number) => {
    if (numberBytes === 4) inner.writeUInt32LE(number, numberAt);
    else inner.writeBigUInt64LE(BigInt(number), numberAt);
    // Computes the hash as hex text instead of as a buffer, because allocating one buffer per hash takes longer than computing the hash.
    outer.write(hash('sha256', inner, 'hex'), BLOCK_BYTES, 'hex');
    return hash('sha256', outer, 'hex');
  };
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
  const hmac = keyedHash(key, label, 8);
  const raw = Buffer.allocUnsafe(RAW_BYTES);
  return integersFrom((counter) => {
    // The buffer `raw` has 8 bytes, so `write` drops the rest of the hash.
    raw.write(hmac(counter), 'hex');
    return raw.readBigUInt64LE();
  });
}
