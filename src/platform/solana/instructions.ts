import { PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import { MEMO_PROGRAM } from './tokens.ts';

/** A top-level instruction of a transaction. Inner instructions (which a called program runs) are not included. Addresses are base58. */
export interface ParsedInstruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Buffer;
}

/** Returns the account addresses of a transaction. Instructions and balances refer to accounts by their index in this list. */
export function addressesOf({ transaction, meta }: VersionedTransactionResponse): string[] {
  const { writable = [], readonly = [] } = meta?.loadedAddresses ?? {};
  return [...transaction.message.staticAccountKeys, ...writable, ...readonly].map((key) => new PublicKey(key).toBase58());
}

/** Returns the addresses of a transaction's signers. */
export function signersOf({ transaction: { message } }: VersionedTransactionResponse): string[] {
  return message.staticAccountKeys.slice(0, message.header.numRequiredSignatures).map((key) => key.toBase58());
}

export function instructionsOf(found: VersionedTransactionResponse): ParsedInstruction[] {
  const addresses = addressesOf(found);
  return found.transaction.message.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => ({
    program: addresses[programIdIndex] ?? '',
    accounts: accountKeyIndexes.map((index) => addresses[index] ?? ''),
    data: Buffer.from(data),
  }));
}

/** Addresses of the memo program's current version and of its first version. */
const MEMO_PROGRAMS = new Set([MEMO_PROGRAM.toBase58(), 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo']);

/** Returns the texts of the memo instructions. */
export const memosOf = (instructions: readonly ParsedInstruction[]): string[] =>
  instructions.filter(({ program }) => MEMO_PROGRAMS.has(program)).map(({ data }) => data.toString('utf8'));
