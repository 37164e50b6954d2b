import { sha256 } from '@noble/hashes/sha2.js';
import bs58 from 'bs58';
import { toHex } from '../../../../src/lib/draw/bytes.ts';
import { json, Line, read } from './published.ts';

/** The lines of an epoch. Line i has the bytes 32 × i to 32 × i + 32 of `keys`, its wallet. */
export interface Leaves {
  readonly lines: readonly Line[];
  readonly keys: Uint8Array;
}

const HASH_BYTES = 32;
const KEY_BYTES = 32;
const AMOUNT = /^(?:0|[1-9]\d{0,18})$/;

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

/**
 * Parses the lines of an epoch.
 * @throws Lie with the number of the first invalid line
 */
export function parseLines(texts: readonly string[]): Leaves {
  const keys = new Uint8Array(KEY_BYTES * texts.length);
  const lines = texts.map((text, i) => {
    const name = `line ${i + 2} of the leaves`;
    const value = json(name, text);
    const line = parseUsual(value, keys, KEY_BYTES * i);
    if (line !== null) return line;
    const unusual = read(name, Line, value);
    keys.set(bs58.decode(unusual.wallet), KEY_BYTES * i);
    return unusual;
  });
  return { lines, keys };
}

/**
 * Returns a line, and writes its wallet to `keys`. Returns null when the line may be invalid, so that the schema decides about it. This function exists
 * because an epoch has a million lines and the schema takes five times as long.
 */
function parseUsual(value: unknown, keys: Uint8Array, at: number): Line | null {
  if (typeof value !== 'object' || value === null) return null;
  const { index, wallet, points, amount }: { index?: unknown; wallet?: unknown; points?: unknown; amount?: unknown } = value;
  if (!(index === null || isInteger(index)) || !(points === null || isInteger(points))) return null;
  if (typeof wallet !== 'string' || typeof amount !== 'string' || !AMOUNT.test(amount)) return null;
  const key = bs58.decodeUnsafe(wallet);
  if (key?.length !== KEY_BYTES) return null;
  keys.set(key, at);
  return { index, wallet, points: points === null ? null : BigInt(points), amount: BigInt(amount) };
}

/**
 * Hashes the first leaves of a list.
 * leaf = sha256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet ‖ amount u64 LE)
 * @returns the hashes, 32 bytes each
 */
function hashLeaves(epoch: number, { lines, keys }: Leaves, count: number): Uint8Array {
  const hashes = new Uint8Array(HASH_BYTES * count);
  const leaf = new Uint8Array(53);
  const view = new DataView(leaf.buffer);
  view.setBigUint64(1, BigInt(epoch), true);
  for (const [index, { amount }] of lines.slice(0, count).entries()) {
    view.setUint32(9, index, true);
    leaf.set(keys.subarray(KEY_BYTES * index, KEY_BYTES * (index + 1)), 13);
    view.setBigUint64(45, amount, true);
    hashes.set(sha256(leaf), HASH_BYTES * index);
  }
  return hashes;
}

/** Returns whether the first of two hashes is the smaller one. */
function isSmaller(left: Uint8Array, right: Uint8Array): boolean {
  const i = left.findIndex((byte, at) => byte !== right[at]);
  return i >= 0 && (left[i] ?? 0) < (right[i] ?? 0);
}

/**
 * Returns the root of the tree of the first leaves, null without leaves. A parent node is the hash of its two children in sorted order; a last node
 * without a partner moves up unchanged.
 */
export function rootOf(epoch: number, leaves: Leaves, count: number): string | null {
  if (count === 0) return null;
  const nodes = hashLeaves(epoch, leaves, count);
  const pair = new Uint8Array(2 * HASH_BYTES);
  // Each level replaces the begin of the level below, which is already read there.
  for (let size = nodes.length; size > HASH_BYTES; size = HASH_BYTES * Math.ceil(size / pair.length)) {
    for (let at = 0; at < size; at += pair.length) {
      const [left, right] = [nodes.subarray(at, at + HASH_BYTES), nodes.subarray(at + HASH_BYTES, Math.min(at + pair.length, size))];
      if (right.length === 0) nodes.set(left, at / 2);
      else {
        const [first, second] = isSmaller(left, right) ? [left, right] : [right, left];
        pair.set(first);
        pair.set(second, HASH_BYTES);
        nodes.set(sha256(pair), at / 2);
      }
    }
  }
  return toHex(nodes.subarray(0, HASH_BYTES));
}
