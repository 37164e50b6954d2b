import { randomInt } from 'node:crypto';
import { NONCE_LENGTH, type SignInInput } from '#lib/sign-in/siws.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const iso = (column: string) => `${instant(column)} as ${column}`;
const COLUMNS = `nonce, domain, uri, statement, chain_id, ${iso('issued_at')}, ${iso('expires_at')}`;

interface NonceRow {
  nonce: string;
  domain: string;
  uri: string;
  statement: string;
  chain_id: string;
  issued_at: string;
  expires_at: string;
}

const insertNonce = statement<NonceRow>(
  'insert_nonce',
  `with clock as materialized (select date_trunc('milliseconds', app_now()) as now)
   insert into nonces (nonce, domain, uri, statement, chain_id, issued_at, expires_at)
   select $1, $2, $3, $4, $5, now, now + interval '5 minutes' from clock returning ${COLUMNS}`,
);
const findNonce = statement<NonceRow>(
  'find_nonce',
  `select ${COLUMNS} from nonces where nonce = $1 and consumed_at is null and expires_at > (select app_now())`,
);
const markConsumed = statement<{ nonce: string }>(
  'consume_nonce',
  'update nonces set consumed_at = app_now() where nonce = $1 and consumed_at is null and expires_at > (select app_now()) returning nonce',
);

const toInput = (row: NonceRow): SignInInput => ({
  domain: row.domain,
  statement: row.statement,
  uri: row.uri,
  version: '1',
  chainId: row.chain_id,
  nonce: row.nonce,
  issuedAt: row.issued_at,
  expirationTime: row.expires_at,
});

/** Creates a nonce and stores it with the values that its sign-in text contains. The nonce is valid for five minutes. */
export async function issueNonce(tx: Tx, text: { origin: URL; statement: string; chain: string }): Promise<SignInInput> {
  const nonce = Array.from({ length: NONCE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  const [row] = await tx.query(insertNonce, [nonce, text.origin.host, text.origin.origin, text.statement, `solana:${text.chain}`]);
  if (!row) throw new Error('the nonce was not inserted');
  return toInput(row);
}

/** Reads the values that the sign-in text of a nonce contains; null when the nonce is unknown, used or expired. */
export async function findOpenNonce(db: Queryable, nonce: string): Promise<SignInInput | null> {
  const [row] = await db.query(findNonce, [nonce]);
  return row ? toInput(row) : null;
}

/**
 * Marks a nonce as used.
 * @returns true in exactly one of several concurrent calls; false when the nonce is used or expired
 */
export async function consumeNonce(tx: Tx, nonce: string): Promise<boolean> {
  return (await tx.query(markConsumed, [nonce])).length === 1;
}
