import { PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import { MEMO_PROGRAM } from './tokens.ts';

/** An instruction that a transaction itself gives: what programs do on its behalf is none. Addresses are base58. */
export interface Instruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Buffer;
}

/** The addresses that a transaction names: its instructions and balances tell theirs by the place here. */
export function addressesOf({ transaction, meta }: VersionedTransactionResponse): string[] {
  const { writable = [], readonly = [] } = meta?.loadedAddresses ?? {};
  return [...transaction.message.staticAccountKeys, ...writable, ...readonly].map((key) => new PublicKey(key).toBase58());
}

/** Who has signed a transaction. */
export function signersOf({ transaction: { message } }: VersionedTransactionResponse): string[] {
  return message.staticAccountKeys.slice(0, message.header.numRequiredSignatures).map((key) => key.toBase58());
}

export function instructionsOf(found: VersionedTransactionResponse): Instruction[] {
  const addresses = addressesOf(found);
  return found.transaction.message.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => ({
    program: addresses[programIdIndex] ?? '',
    accounts: accountKeyIndexes.map((index) => addresses[index] ?? ''),
    data: Buffer.from(data),
  }));
}

/** The memo program, and the one before it, which needs no signer. */
const MEMOS = new Set([MEMO_PROGRAM.toBase58(), 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo']);

/** The texts of the memos among instructions. */
export const memosOf = (instructions: readonly Instruction[]): string[] =>
  instructions.filter(({ program }) => MEMOS.has(program)).map(({ data }) => data.toString('utf8'));
