import bs58 from 'bs58';
import { z } from 'zod';

/** A Solana address: base58 text of exactly 32 bytes. */
export const Wallet = z
  .string()
  .min(32, 'must be a wallet address (base58 of 32 bytes)')
  .max(44, 'must be a wallet address (base58 of 32 bytes)')
  .refine((text) => decodeBase58(text)?.length === 32, 'must be a wallet address (base58 of 32 bytes)')
  .meta({ id: 'Wallet', description: 'A Solana address: base58 of 32 bytes.', example: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' });

/** The identifier of something that an operator names: a game, a cabinet. */
export const Slug = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/, 'must be 1 to 64 lower-case letters, digits and inner hyphens')
  .meta({ id: 'Slug', example: 'star-raiders' });

/** The identifier of something that the service names: a score, a play. */
export const Id = z.uuid('must be a UUID').meta({ id: 'Id', example: '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a' });

/** An instant, ISO 8601 in UTC. */
export const Instant = z.iso.datetime().meta({ id: 'Instant', example: '2026-11-21T12:00:00.000Z' });

/** A UTC day. */
export const Day = z.iso.date('must be a day as YYYY-MM-DD').meta({ id: 'Day', example: '2026-11-21' });

/** A count that may be shown: points, ranks, totals. */
export const Count = z.int();

/** Text for people: no control characters, nothing that a database refuses. */
export const line = (max: number) =>
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(max, `must be at most ${max} characters`)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not hold control characters');

/** Longer than whatever is written in base58: a signature has 88 characters. Decoding takes the square of it, minutes for a body's worth. */
const MAX_BASE58 = 128;

/** Base58 text to bytes, or null where it is none, or longer than any address or signature. */
export function decodeBase58(text: string): Uint8Array | null {
  return text.length > MAX_BASE58 ? null : (bs58.decodeUnsafe(text) ?? null);
}
