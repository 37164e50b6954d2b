import { createHash, randomBytes } from 'node:crypto';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Maximum link attempts per wallet. A new attempt evicts the oldest one. */
const MAX_ATTEMPTS = 5;
/** Lifetime of a link attempt, minutes. */
const ATTEMPT_MINUTES = 10;

type LinkMethod = 'oauth' | 'challenge';

const evictOldest = statement(
  'evict_link_attempts',
  `delete from link_attempts where key in (select key from link_attempts where wallet = $1 order by expires_at desc offset ${MAX_ATTEMPTS - 1})`,
);
const insert = statement<{ expiresAt: number }>(
  'insert_link_attempt',
  `insert into link_attempts (key, wallet, platform, method, secret, expires_at)
   values ($1, $2, $3, $4, $5, app_now() + interval '${ATTEMPT_MINUTES} minutes') returning floor(extract(epoch from expires_at) * 1000)::float8 as "expiresAt"`,
);
const markUsed = statement<{ secret: string }>(
  'use_link_attempt',
  `update link_attempts set used_at = app_now()
   where key = $1 and wallet = $2 and method = $3 and used_at is null and expires_at > app_now() returning secret`,
);
const markUnused = statement('release_link_attempt', 'update link_attempts set used_at = null where key = $1 and wallet = $2');
const findUsed = statement<{ used: boolean }>(
  'find_used_link_attempt',
  'select true as used from link_attempts where key = $1 and wallet = $2 and method = $3 and used_at is not null and expires_at > app_now()',
);
const selectCodes = statement<{ code: string }>(
  'select_open_challenges',
  `select secret as code from link_attempts
   where wallet = $1 and platform = $2 and method = 'challenge' and used_at is null and expires_at > app_now() order by expires_at desc`,
);

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
  const [, [row]] = await Promise.all([tx.query(evictOldest, [wallet]), tx.query(insert, [hash(name), wallet, platform, method, secret])]);
  if (!row) throw new Error('the link attempt was not stored');
  return row.expiresAt;
}

/**
 * Marks an attempt of the wallet as used. If several calls run concurrently, only one of them gets the secret of the attempt.
 * @returns null when the attempt does not exist, was started by another wallet or has expired; 'used' when the attempt was used before
 */
export async function useAttempt(tx: Tx, wallet: string, method: LinkMethod, name: string): Promise<{ readonly secret: string } | 'used' | null> {
  const [row] = await tx.query(markUsed, [hash(name), wallet, method]);
  if (row) return row;
  return (await tx.query(findUsed, [hash(name), wallet, method])).length > 0 ? 'used' : null;
}

/** Marks a used attempt as unused, so that the client can retry. */
export async function releaseAttempt(tx: Tx, wallet: string, name: string): Promise<void> {
  await tx.query(markUnused, [hash(name), wallet]);
}

/** Reads the codes of a wallet's open challenges, newest first. */
export async function readOpenCodes(db: Queryable, wallet: string, platform: string): Promise<string[]> {
  return (await db.query(selectCodes, [wallet, platform])).map(({ code }) => code);
}
