import { constantTimeEqual } from '#lib/constant-time-equal.ts';
import { fail, type HttpError } from '#lib/errors.ts';
import { decodeBase58 } from '#lib/scalars.ts';
import { verifyStrict } from '#lib/sign-in/ed25519.ts';
import { MAX_TRANSACTION_BYTES, MalformedTransaction, readMemoTransaction, signInBlockhash } from '#lib/sign-in/memo-transaction.ts';
import { extractNonce, renderSignIn } from '#lib/sign-in/siws.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { findOpenNonce } from './nonces.ts';
import type { SignInProof } from './schemas.ts';

/** A signed text from a sign-in proof, which is a signed message or a signed transaction. */
interface SignedText {
  /** The sign-in text. */
  readonly text: string;
  readonly signedBytes: Uint8Array;
  readonly signature: Uint8Array;
  /** The blockhash of the signed transaction; absent for a signed message. */
  readonly blockhash?: Uint8Array;
}

/** Returns the error for every invalid proof. The error does not contain the reason, so that it reveals nothing to an attacker. */
export function proofRefused(proof: SignInProof): HttpError {
  return fail(401, `the signed ${proof.transaction === undefined ? 'message' : 'transaction'} is not accepted, sign in again with a new nonce`);
}

/**
 * Verifies a sign-in proof. The service takes only the nonce from the signed text. Then it renders the expected text from the nonce's row and the
 * public key, and the signed text must be equal to the expected text.
 * @returns the nonce, which is verified but not marked as used
 * @throws 400 with the name of a malformed field; 401 for an invalid proof
 */
export async function checkProof(db: Queryable, proof: SignInProof): Promise<string> {
  const refused = proofRefused(proof);
  const key = decodeBase58(proof.publicKey);
  if (!key) throw fail(400, 'publicKey must be a wallet address (base58 of 32 bytes)');
  const signed = proof.transaction === undefined ? readMessage(proof) : readTransaction(proof.transaction, key);
  const nonce = signed && extractNonce(signed.text);
  if (!nonce) throw refused;
  const input = await findOpenNonce(db, nonce);
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

/** Decodes a message: text, or the base64 of text. A sign-in text contains spaces and line breaks, so it is never valid base64. */
function textOf(message: string): string {
  const bytes = base64(message);
  if (!bytes) return message;
  const text = utf8(bytes);
  if (text === null) throw fail(400, 'message must be text or the base64 of UTF-8 text');
  return text;
}

/** Decodes a signature in base58 or base64. The base64 of 64 bytes always ends with `=`; base58 never contains `=`. */
function signatureOf(text: string): Uint8Array {
  const bytes = text.endsWith('=') ? base64(text) : decodeBase58(text);
  if (bytes?.length !== 64) throw fail(400, 'signature must be base58 or base64 of 64 bytes');
  return bytes;
}

/** Decodes strict base64; null when the text is invalid. */
function base64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length > 0 && bytes.toString('base64') === text ? bytes : null;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8; null when the bytes are invalid. */
function utf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
