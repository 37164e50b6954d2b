import { createHash, randomBytes } from 'node:crypto';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** A wallet's latest attempts are kept, so many; an older one is forgotten. */
export const MOST_ATTEMPTS = 5;
/** How long an attempt is good for. */
export const ATTEMPT_MINUTES = 10;

export type Method = 'oauth' | 'challenge';

const forget = statement(
  'forget_link_attempts',
  `delete from link_attempts where key in (select key from link_attempts where wallet = $1 order by expires_at desc offset ${MOST_ATTEMPTS - 1})`,
);
const insert = statement<{ expiresAt: number }>(
  'insert_link_attempt',
  `insert into link_attempts (key, wallet, platform, method, secret, expires_at)
   values ($1, $2, $3, $4, $5, app_now() + interval '${ATTEMPT_MINUTES} minutes') returning floor(extract(epoch from expires_at) * 1000)::float8 as "expiresAt"`,
);
const use = statement<{ secret: string }>(
  'use_link_attempt',
  `update link_attempts set used_at = app_now()
   where key = $1 and wallet = $2 and method = $3 and used_at is null and expires_at > app_now() returning secret`,
);
const release = statement('release_link_attempt', 'update link_attempts set used_at = null where key = $1 and wallet = $2');
const findUsed = statement<{ used: boolean }>(
  'find_used_link_attempt',
  'select true as used from link_attempts where key = $1 and wallet = $2 and method = $3 and used_at is not null and expires_at > app_now()',
);
const selectCodes = statement<{ code: string }>(
  'select_open_challenges',
  `select secret as code from link_attempts
   where wallet = $1 and platform = $2 and method = 'challenge' and used_at is null and expires_at > app_now() order by expires_at desc`,
);

/** Nothing to be guessed, in letters that survive everything. */
export const newSecret = (): string => randomBytes(32).toString('base64url');
export const newCode = (): string => randomBytes(12).toString('hex');

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Writes down that a wallet has begun to link an account. The caller holds the wallet's lock, so that attempts are counted right.
 * @param name what the attempt is found by when it comes back; only its hash is kept
 * @returns when it ends, ms since 1970
 */
export async function beginAttempt(
  tx: Tx,
  { wallet, platform, method, name, secret }: { wallet: string; platform: string; method: Method; name: string; secret: string },
): Promise<number> {
  const [, [row]] = await Promise.all([tx.query(forget, [wallet]), tx.query(insert, [hash(name), wallet, platform, method, secret])]);
  if (!row) throw new Error('an attempt was not stored');
  return row.expiresAt;
}

/**
 * Uses up an attempt of this wallet, with the transaction: of any number at once, one gets its secret.
 * @returns null where there is none: never was, was another wallet's, has ended; 'used' where it was used before
 */
export async function useAttempt(tx: Tx, wallet: string, method: Method, name: string): Promise<{ readonly secret: string } | 'used' | null> {
  const [row] = await tx.query(use, [hash(name), wallet, method]);
  if (row) return row;
  return (await tx.query(findUsed, [hash(name), wallet, method])).length > 0 ? 'used' : null;
}

/** Makes an attempt good again, of which nothing came. */
export async function releaseAttempt(tx: Tx, wallet: string, name: string): Promise<void> {
  await tx.query(release, [hash(name), wallet]);
}

/** The codes of a wallet's challenges that are open, the latest first. */
export async function openCodes(db: Queryable, wallet: string, platform: string): Promise<string[]> {
  return (await db.query(selectCodes, [wallet, platform])).map(({ code }) => code);
}
