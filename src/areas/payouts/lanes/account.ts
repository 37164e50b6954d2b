import { createHash } from 'node:crypto';
import { PublicKey, SystemProgram } from '@solana/web3.js';

/** Size of a nonce account, bytes. */
export const NONCE_BYTES = 80;

/** Owner and data of an account, as the RPC node returned them; null when the account does not exist. */
export type FetchedAccount = { readonly owner: PublicKey; readonly data: Buffer } | null;

/** Authority and nonce of an initialized nonce account. Layout of the account's data: version u32, state u32, authority, nonce, fee. */
export interface NonceAccount {
  readonly authority: string;
  readonly value: string;
}

/** Decodes a nonce account. Returns null when the account is missing, is not a nonce account, or is not initialized. */
export function decodeNonce(account: FetchedAccount): NonceAccount | null {
  if (!account?.owner.equals(SystemProgram.programId) || account.data.length !== NONCE_BYTES || account.data.readUInt32LE(4) !== 1) return null;
  const key = (at: number) => new PublicKey(account.data.subarray(at, at + 32)).toBase58();
  return { authority: key(8), value: key(40) };
}

/** Returns the seed of a lane's nonce account. The address is derived from the fee payer and this seed, so the account needs no private key. */
export const laneSeed = (lane: number): string => `coinop-payouts-${lane}`;

/** Returns the address of a lane's nonce account. The system program derives the same address: sha256(fee payer ‖ seed ‖ system program). */
export function laneAddress(feePayer: PublicKey, lane: number): PublicKey {
  const parts = [feePayer.toBuffer(), Buffer.from(laneSeed(lane)), SystemProgram.programId.toBuffer()];
  return new PublicKey(createHash('sha256').update(Buffer.concat(parts)).digest());
}
