import { createHash } from 'node:crypto';
import { bytesOf, type Key, keyOf, SYSTEM_PROGRAM } from '../keys.ts';
import type { SvmAccount } from './svm.ts';
import { mayWrite, type WireMessage } from './wire.ts';

const NONCE_BYTES = 80;
const NONCE_AT = 40;
const ADVANCE_NONCE = 4;

/** The content of a nonce account. */
export interface Nonce {
  readonly authority: Key;
  /** The value that a durable-nonce transaction contains in place of a blockhash. */
  readonly value: Key;
}

/** Parses a nonce account. Returns null if the account is not an initialized nonce account of the current version. */
export function nonceOf(account: SvmAccount | null): Nonce | null {
  if (account?.owner !== SYSTEM_PROGRAM || account.data.length !== NONCE_BYTES) return null;
  const data = Buffer.from(account.data.buffer, account.data.byteOffset, NONCE_BYTES);
  if (data.readUInt32LE(0) !== 1 || data.readUInt32LE(4) !== 1) return null;
  return { authority: keyOf(data.subarray(8, 40)), value: keyOf(data.subarray(NONCE_AT, NONCE_AT + 32)) };
}

/**
 * Returns the value that a nonce gets when a transaction advances it.
 * @param lastBlockhash hash of the last block before the block of this transaction
 */
export function nextNonce(lastBlockhash: Key): Key {
  return keyOf(createHash('sha256').update('DURABLE_NONCE').update(bytesOf(lastBlockhash)).digest());
}

/** Returns a copy of a nonce account with another value. */
export function withNonce(account: SvmAccount, value: Key): SvmAccount {
  const data = Buffer.from(account.data);
  bytesOf(value).copy(data, NONCE_AT);
  return { ...account, data: new Uint8Array(data) };
}

/**
 * Returns the nonce account that the first instruction advances, and the signers of this instruction. Returns null if the first instruction does not
 * advance a nonce.
 */
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
