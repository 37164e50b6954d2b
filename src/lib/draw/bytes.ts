import { hash } from 'node:crypto';
import { z } from 'zod';
import { decodeBase58 } from '../scalars.ts';

/**
 * Byte formats of a draw. These rules hold for all of them: hashes are SHA-256; integers are unsigned and little-endian, as on Solana (u8, u32, u64:
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

/** An instant with milliseconds, exactly as `Date.toISOString` writes it, so that equal instants have equal text. */
export const Millisecond = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'must be an instant as 2026-11-21T12:00:00.000Z')
  .refine((text) => Number.isFinite(Date.parse(text)) && new Date(text).toISOString() === text, 'must be an instant that exists')
  .meta({ example: '2026-11-21T12:00:00.000Z' });

/** An amount in base units, at most 2^64 − 1. */
export const Units = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,19})$/, { error: 'must be a whole number of base units', abort: true })
  .refine((text) => text.length < 20 || BigInt(text) < 2n ** 64n, 'must be less than 2^64')
  .meta({ example: '5000000' });

export const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

export const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
export const fromHex = (text: string): Buffer => Buffer.from(text, 'hex');

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/**
 * Returns the SHA-256 over length-prefixed parts: for each part its length in bytes as u32, then its bytes. Two different lists of parts never give
 * the same hash input.
 */
export function hashOfParts(...parts: readonly Uint8Array[]): Buffer {
  return sha256(Buffer.concat(parts.flatMap((part) => [u32(part.length), part])));
}

/** Returns the 16 bytes of a UUID. @throws when the text is not a UUID in lower case */
export function uuidBytes(id: string): Buffer {
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
