import { createHash } from 'node:crypto';
import { bytesOf, type Key, keyOf, SYSTEM_PROGRAM } from '../keys.ts';
import type { Account } from './svm.ts';
import { mayWrite, type WireMessage } from './wire.ts';

const NONCE_BYTES = 80;
const NONCE_AT = 40;
const ADVANCE_NONCE = 4;

/** What a nonce account holds. */
export interface Nonce {
  readonly authority: Key;
  /** Stands in the place of a transaction's blockhash. */
  readonly value: Key;
}

/** null for what is not an initialized nonce account of the current version. */
export function nonceOf(account: Account | null): Nonce | null {
  if (account?.owner !== SYSTEM_PROGRAM || account.data.length !== NONCE_BYTES) return null;
  const data = Buffer.from(account.data.buffer, account.data.byteOffset, NONCE_BYTES);
  if (data.readUInt32LE(0) !== 1 || data.readUInt32LE(4) !== 1) return null;
  return { authority: keyOf(data.subarray(8, 40)), value: keyOf(data.subarray(NONCE_AT, NONCE_AT + 32)) };
}

/** The value that a nonce moves to in a block: it derives from the hash of the block before. */
export function nextNonce(lastBlockhash: Key): Key {
  return keyOf(createHash('sha256').update('DURABLE_NONCE').update(bytesOf(lastBlockhash)).digest());
}

/** The nonce account with another value. */
export function withNonce(account: Account, value: Key): Account {
  const data = Buffer.from(account.data);
  bytesOf(value).copy(data, NONCE_AT);
  return { ...account, data: new Uint8Array(data) };
}

/** The nonce account that a transaction's first instruction advances, and who signs for it; null where it is no such transaction. */
export function durableNonce(message: WireMessage): { account: Key; signers: readonly Key[] } | null {
  const [first] = message.instructions;
  if (!first || message.keys[first.programIndex] !== SYSTEM_PROGRAM) return null;
  if (first.data.length < 4 || first.data.readUInt32LE(0) !== ADVANCE_NONCE) return null;
  const index = first.accounts[0];
  const account = index === undefined ? undefined : message.keys[index];
  if (index === undefined || account === undefined || !mayWrite(message, index)) return null;
  const signers = [...first.accounts].filter((i) => i < message.required).flatMap((i) => message.keys[i] ?? []);
  return { account, signers };
}
