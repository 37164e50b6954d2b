import { createHash } from 'node:crypto';
import { SystemProgram } from '@solana/web3.js';
import { type Account, type Address, addressOfBytes, type Instruction, parseAddress } from './primitives.ts';

/** Address of the system program. */
export const SYSTEM_PROGRAM: Address = SystemProgram.programId;

/** Builds the instruction that transfers lamports. */
export const transferLamports = (from: Address, to: Address, lamports: number | bigint): Instruction =>
  SystemProgram.transfer({ fromPubkey: from, toPubkey: to, lamports });

/** Builds the instruction that creates an account of `space` bytes for the program `owner`. The payer and the new account must sign. */
export const createAccount = (account: { payer: Address; address: Address; lamports: number; space: number; owner: Address }): Instruction =>
  SystemProgram.createAccount({
    fromPubkey: account.payer,
    newAccountPubkey: account.address,
    lamports: account.lamports,
    space: account.space,
    programId: account.owner,
  });

/** Size of a nonce account, bytes. */
export const NONCE_BYTES = 80;

/** Authority and nonce of an initialized nonce account. Layout of the account's data: version u32, state u32, authority, nonce, fee. */
export interface NonceAccount {
  readonly authority: string;
  readonly value: string;
}

/** Decodes a nonce account. Returns null when the account is missing, is not a nonce account, or is not initialized. */
export function decodeNonce(account: Pick<Account, 'owner' | 'data'> | null): NonceAccount | null {
  if (!account?.owner.equals(SYSTEM_PROGRAM) || account.data.length !== NONCE_BYTES || account.data.readUInt32LE(4) !== 1) return null;
  const key = (at: number) => addressOfBytes(account.data.subarray(at, at + 32)).toBase58();
  return { authority: key(8), value: key(40) };
}

/**
 * Returns the value that a nonce has after a transaction used it or opened its account.
 * @param previousBlockhash hash of the block before the block of this transaction
 */
export const nonceAfter = (previousBlockhash: string): string =>
  addressOfBytes(createHash('sha256').update('DURABLE_NONCE').update(parseAddress(previousBlockhash).toBytes()).digest()).toBase58();

/**
 * Builds the instructions that make a nonce account of an address. The address must be derived from the authority and the seed, so that the account
 * needs no private key. The address may hold lamports already.
 */
export const openNonceAccount = (account: { address: Address; authority: Address; seed: string }): Instruction[] => [
  SystemProgram.allocate({
    accountPubkey: account.address,
    basePubkey: account.authority,
    seed: account.seed,
    programId: SYSTEM_PROGRAM,
    space: NONCE_BYTES,
  }),
  SystemProgram.nonceInitialize({ noncePubkey: account.address, authorizedPubkey: account.authority }),
];

/** Builds the instruction that advances a nonce. It must be the first instruction of a transaction. */
export const advanceNonceInstruction = (account: Address, authority: Address): Instruction =>
  SystemProgram.nonceAdvance({ noncePubkey: account, authorizedPubkey: authority });
