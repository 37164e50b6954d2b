import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase58 } from '../scalars.ts';

/**
 * Byte formats of a draw, as docs/verification.md describes them. These rules hold for all of them: hashes are SHA-256; integers are unsigned and little-endian, as on Solana (u8, u32, u64:
 * 1, 4, 8 bytes); text is UTF-8; hashes in text are lower-case hex; `‖` is concatenation.
 */
export const HASH_BYTES = 32;

/** A SHA-256 hash as text. */
export const Hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')
  .meta({ example: '2f7a9c1be0d34455a8d0c6a1f1f0e7b3c9a2d4e6f8091a2b3c4d5e6f70819293' });

/** Identifier of a round: a UUID in lower case. A hash input contains the 16 bytes of the UUID instead of its text. */
export const RoundId = z
  .string()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a UUID in lower case')
  .meta({ example: '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a' });

/** An instant from 1970 on with milliseconds, exactly as `Date.toISOString` writes it, so that equal instants have equal text. */
export const Millisecond = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'must be an instant as 2026-11-21T12:00:00.000Z')
  .refine((text) => Date.parse(text) >= 0 && new Date(text).toISOString() === text, 'must be an instant that exists, from 1970 on')
  .meta({ example: '2026-11-21T12:00:00.000Z' });

/** An amount in base units, at most 2^64 − 1. */
export const Units = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,19})$/, { error: 'must be a whole number of base units', abort: true })
  .refine((text) => text.length < 20 || BigInt(text) < 2n ** 64n, 'must be less than 2^64')
  .meta({ example: '5000000' });

/** A whole second as an instant. The chain has no finer time. */
export const Second = Millisecond.refine((text) => text.endsWith('.000Z'), 'must be a whole second');

/** An ed25519 signature as text. */
export const SignatureHex = z
  .string()
  .regex(/^[0-9a-f]{128}$/, 'must be 128 lower-case hexadecimal digits')
  .meta({
    example: 'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  });

export { concatBytes, sha256 };

const encoder = new TextEncoder();
export const utf8 = (text: string): Uint8Array => encoder.encode(text);
export const toHex: (bytes: Uint8Array) => string = bytesToHex;

/** Decodes hex text. @throws when the text is not pairs of lower-case hexadecimal digits */
export function fromHex(text: string): Uint8Array {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) throw new Error('the text is not lower-case hex');
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

export function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

export function u64(value: number | bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes;
}

/** Returns a part with its length prefix: the length in bytes as u32, then the bytes. */
export const prefixed = (part: Uint8Array): Uint8Array => concatBytes(u32(part.length), part);

/** Returns the SHA-256 over length-prefixed parts. Two different lists of parts never give the same hash input. */
export const hashOfParts = (...parts: readonly Uint8Array[]): Uint8Array => sha256(concatBytes(...parts.map(prefixed)));

/** Returns the 16 bytes of a UUID. @throws when the text is not a UUID in lower case */
export function uuidBytes(id: string): Uint8Array {
  return fromHex(RoundId.parse(id).replaceAll('-', ''));
}

/** Returns the 32 bytes of an address or a blockhash in base58. @throws when the text is not base58 of 32 bytes */
export function base58Bytes(text: string): Uint8Array {
  const bytes = decodeBase58(text);
  if (bytes?.length !== HASH_BYTES) throw new Error(`${text} is not base58 of 32 bytes`);
  return bytes;
}

/** Converts an ISO 8601 instant to milliseconds since 1970. */
export const millis = (instant: string): number => Date.parse(instant);
export const instantOf = (ms: number): string => new Date(ms).toISOString();
