import { createHash } from 'node:crypto';
import bs58 from 'bs58';

/** The most that a Solana transaction may be, bytes. */
export const MAX_TRANSACTION_BYTES = 1232;

const MEMO_PROGRAM = Buffer.from(bs58.decode('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'));

/** Thrown for bytes that are not a transaction at all. */
export class MalformedTransaction extends Error {}

/** A transaction that does nothing but hold a memo. */
export interface MemoTransaction {
  /** The memo's bytes. */
  readonly memo: Buffer;
  readonly blockhash: Buffer;
  /** What was signed. */
  readonly message: Buffer;
  readonly signature: Buffer;
}

/** The blockhash of a sign-in transaction: the hash of no block, so that the transaction can never land. */
export function signInBlockhash(nonce: string): Buffer {
  return createHash('sha256').update('coinop/sign-in').update(nonce).digest();
}

/**
 * Reads a signed legacy or version 0 transaction.
 * @param payer the 32 bytes of the key that must be its one signer and fee payer
 * @returns null when it is a transaction, but has another signer, or anything in it but one memo without accounts
 * @throws MalformedTransaction when the bytes are no transaction: cut off, trailing bytes, numbers not in their shortest form
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

/** Reads Solana's wire format, and never past its end. */
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

  /** A compact-u16: seven bits a byte, lowest first, in its shortest form. */
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
