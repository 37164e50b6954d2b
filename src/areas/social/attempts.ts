import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { LinkAttemptsTable } from './entities.ts';

/** Maximum link attempts per wallet. A new attempt evicts the oldest one. */
const MAX_ATTEMPTS = 5;
/** Lifetime of a link attempt, minutes. */
const ATTEMPT_MINUTES = 10;

type LinkMethod = 'oauth' | 'challenge';

const build = queryBuilder([LinkAttemptsTable]);
const now = sql<string>`app_now()`;

/** Returns a random secret of 256 bits, URL-safe. */
export const newSecret = (): string => randomBytes(32).toString('base64url');
/** Returns a random code of 96 bits, hexadecimal. */
export const newCode = (): string => randomBytes(12).toString('hex');

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Stores a new link attempt of a wallet. Precondition: the caller holds the wallet's lock, so that the count of attempts is exact.
 * @param name text with which the client names the attempt later; only its hash is stored
 * @returns the time at which the attempt expires, ms since 1970
 */
export async function beginAttempt(
  tx: Tx,
  { wallet, platform, method, name, secret }: { wallet: string; platform: string; method: LinkMethod; name: string; secret: string },
): Promise<number> {
  const newest = build.selectFrom('link_attempts').select('key').where('wallet', '=', wallet).orderBy('expires_at', 'desc');
  const evicted = build.deleteFrom('link_attempts').where('key', 'in', newest.offset(MAX_ATTEMPTS - 1));
  const expiresAt = sql<string>`app_now() + make_interval(mins => ${ATTEMPT_MINUTES})`;
  const inserted = build
    .insertInto('link_attempts')
    .values({ key: hash(name), wallet, platform, method, secret, expires_at: expiresAt })
    .returning(isoInstant('expires_at').as('expiresAt'));
  const [, [row]] = await Promise.all([run(tx, evicted), run(tx, inserted)]);
  if (!row) throw new Error('the link attempt was not stored');
  return Date.parse(row.expiresAt);
}

/**
 * Marks an attempt of the wallet as used. If several calls run concurrently, only one of them gets the secret of the attempt.
 * @returns null when the attempt does not exist, was started by another wallet or has expired; 'used' when the attempt was used before
 */
export async function useAttempt(tx: Tx, wallet: string, method: LinkMethod, name: string): Promise<{ readonly secret: string } | 'used' | null> {
  const attempt = { key: hash(name), wallet, method };
  const marked = build
    .updateTable('link_attempts')
    .set({ used_at: now })
    .where(({ and }) => and(attempt))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('secret');
  const [row] = await run(tx, marked);
  if (row) return row;
  const used = build
    .selectFrom('link_attempts')
    .select('key')
    .where(({ and }) => and(attempt))
    .where('used_at', 'is not', null)
    .where('expires_at', '>', now);
  return (await run(tx, used)).length > 0 ? 'used' : null;
}

/** Marks a used attempt as unused, so that the client can retry. */
export async function releaseAttempt(tx: Tx, wallet: string, name: string): Promise<void> {
  await run(tx, build.updateTable('link_attempts').set({ used_at: null }).where('key', '=', hash(name)).where('wallet', '=', wallet));
}

/** Reads the codes of a wallet's open challenges, newest first. */
export async function readOpenCodes(db: Queryable, wallet: string, platform: string): Promise<string[]> {
  const open = build
    .selectFrom('link_attempts')
    .select('secret')
    .where(({ and }) => and({ wallet, platform, method: 'challenge' }))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('expires_at', 'desc');
  return (await run(db, open)).map(({ secret }) => secret);
}
