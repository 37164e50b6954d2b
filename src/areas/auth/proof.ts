import { constantTimeEqual } from '#lib/constant-time-equal.ts';
import { fail, type HttpError } from '#lib/errors.ts';
import { decodeBase58 } from '#lib/scalars.ts';
import { verifyStrict } from '#lib/sign-in/ed25519.ts';
import { MAX_TRANSACTION_BYTES, MalformedTransaction, readMemoTransaction, signInBlockhash } from '#lib/sign-in/memo-transaction.ts';
import { nonceIn, renderSignIn } from '#lib/sign-in/siws.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { openNonce } from './nonces.ts';
import type { SignInProof } from './schemas.ts';

/** What was signed, however it came. */
interface SignedText {
  /** What is said to have been agreed to. */
  readonly text: string;
  readonly signedBytes: Uint8Array;
  readonly signature: Uint8Array;
  /** Of a transaction. */
  readonly blockhash?: Uint8Array;
}

/** The one answer to every proof that proves nothing: it does not say why. */
export function notAccepted(proof: SignInProof): HttpError {
  return fail(401, `the signed ${proof.transaction === undefined ? 'message' : 'transaction'} is not accepted, sign in again with a new nonce`);
}

/**
 * Checks a proof against what the service itself wrote down. Nothing of it is believed: the text only says which row to
 * render, and then has to be that rendering for the key that signed.
 * @returns the nonce, verified but not yet used up
 * @throws 400 naming the field that is malformed, 401 for a proof that proves nothing
 */
export async function checkProof(db: Queryable, proof: SignInProof): Promise<string> {
  const refused = notAccepted(proof);
  const key = decodeBase58(proof.publicKey);
  if (!key) throw fail(400, 'publicKey must be a wallet address (base58 of 32 bytes)');
  const signed = proof.transaction === undefined ? readMessage(proof) : readTransaction(proof.transaction, key);
  const nonce = signed && nonceIn(signed.text);
  if (!nonce) throw refused;
  const input = await openNonce(db, nonce);
  if (!input || !constantTimeEqual(signed.text, renderSignIn(input, proof.publicKey))) throw refused;
  if (signed.blockhash && !signInBlockhash(nonce).equals(signed.blockhash)) throw refused;
  if (!verifyStrict(key, signed.signedBytes, signed.signature)) throw refused;
  return nonce;
}

function readMessage(proof: SignInProof): SignedText {
  const text = textOf(proof.message ?? '');
  return { text, signedBytes: Buffer.from(text), signature: signatureOf(proof.signature ?? '') };
}

function readTransaction(transaction: string, payer: Uint8Array): SignedText | null {
  const bytes = base64(transaction);
  if (!bytes || bytes.length > MAX_TRANSACTION_BYTES) throw fail(400, `transaction must be the base64 of at most ${MAX_TRANSACTION_BYTES} bytes`);
  try {
    const read = readMemoTransaction(bytes, payer);
    const text = read && utf8(read.memo);
    return read && text !== null ? { text, signedBytes: read.message, signature: read.signature, blockhash: read.blockhash } : null;
  } catch (error) {
    if (error instanceof MalformedTransaction) throw fail(400, 'transaction must be a signed legacy or version 0 transaction');
    throw error;
  }
}

/** The text, or the base64 of it: a sign-in text has spaces and line ends, so it is never base64 itself. */
function textOf(message: string): string {
  const bytes = base64(message);
  if (!bytes) return message;
  const text = utf8(bytes);
  if (text === null) throw fail(400, 'message must be text or the base64 of UTF-8 text');
  return text;
}

/** Padded base64 is told from base58 by its padding: 64 bytes always have some. */
function signatureOf(text: string): Uint8Array {
  const bytes = text.endsWith('=') ? base64(text) : decodeBase58(text);
  if (bytes?.length !== 64) throw fail(400, 'signature must be base58 or base64 of 64 bytes');
  return bytes;
}

/** Strict base64, or null. */
function base64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length > 0 && bytes.toString('base64') === text ? bytes : null;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** UTF-8 text, or null. */
function utf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
