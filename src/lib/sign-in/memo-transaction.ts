import { createHash } from 'node:crypto';
import bs58 from 'bs58';

/** Maximum size of a Solana transaction, bytes. */
export const MAX_TRANSACTION_BYTES = 1232;

const MEMO_PROGRAM = Buffer.from(bs58.decode('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'));

/** Thrown when bytes are not a Solana transaction. */
export class MalformedTransaction extends Error {}

/** A transaction whose only instruction is a memo. */
interface MemoTransaction {
  /** The bytes of the memo. */
  readonly memo: Buffer;
  readonly blockhash: Buffer;
  /** The bytes that the payer signed. */
  readonly message: Buffer;
  readonly signature: Buffer;
}

/** Returns the blockhash of a sign-in transaction. No block has this hash, so the transaction can never land. */
export function signInBlockhash(nonce: string): Buffer {
  return createHash('sha256').update('coinop/sign-in').update(nonce).digest();
}

/**
 * Reads a signed transaction of the legacy format or of version 0.
 * @param payer 32 bytes of the public key that must be the only signer and the fee payer
 * @returns null when the transaction has another signer, or contains anything except one memo without accounts
 * @throws MalformedTransaction when the bytes are not a transaction: truncated, trailing bytes, or a length not in its shortest form
 */
export function readMemoTransaction(bytes: Buffer, payer: Uint8Array): MemoTransaction | null {
  const read = new Reader(bytes);
  const signatures = read.list(() => read.take(64));
  const messageAt = read.at;
  const version = read.peek();
  if (version >= 0x80) {
    if (read.byte() !== 0x80) throw new MalformedTransaction('unknown version');
  }
  const required = read.byte();
  const readonlySigners = read.byte();
  const readonlyOthers = read.byte();
  const keys = read.list(() => read.take(32));
  const blockhash = read.take(32);
  const instructions = read.list(() => ({ program: read.byte(), accounts: read.list(() => read.byte()), data: read.take(read.length()) }));
  const lookups = version >= 0x80 ? read.list(() => [read.take(32), read.list(() => read.byte()), read.list(() => read.byte())]) : [];
  if (read.at !== bytes.length) throw new MalformedTransaction('trailing bytes');
  if (signatures.length !== required || required > keys.length) throw new MalformedTransaction('signatures do not fit the header');

  const [signature] = signatures;
  const [instruction] = instructions;
  if (!signature || !instruction || signatures.length !== 1 || instructions.length !== 1 || lookups.length !== 0) return null;
  if (keys.length !== 2 || readonlySigners !== 0 || readonlyOthers !== 1) return null;
  if (!keys[0]?.equals(payer) || !keys[1]?.equals(MEMO_PROGRAM)) return null;
  if (instruction.program !== 1 || instruction.accounts.length !== 0) return null;
  return { memo: instruction.data, blockhash, message: bytes.subarray(messageAt), signature };
}

/** Reads values in Solana's wire format from a buffer. Throws `MalformedTransaction` when the buffer has too few bytes. */
class Reader {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  peek(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new MalformedTransaction('cut off');
    return byte;
  }

  byte(): number {
    const byte = this.peek();
    this.at++;
    return byte;
  }

  take(length: number): Buffer {
    if (this.at + length > this.#bytes.length) throw new MalformedTransaction('cut off');
    const part = this.#bytes.subarray(this.at, this.at + length);
    this.at += length;
    return part;
  }

  /** Reads a compact-u16: seven bits per byte, lowest bits first. Accepts only the shortest form. */
  length(): number {
    let value = 0;
    for (let i = 0; i < 3; i++) {
      const byte = this.byte();
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        if ((i > 0 && byte === 0) || value > 0xffff) throw new MalformedTransaction('number not in its shortest form');
        return value;
      }
    }
    throw new MalformedTransaction('number too long');
  }

  list<T>(item: () => T): T[] {
    return Array.from({ length: this.length() }, item);
  }
}
