import { createHash } from 'node:crypto';
import { PublicKey, SystemProgram } from '@solana/web3.js';

/** Bytes of a nonce account. */
export const NONCE_BYTES = 80;

/** An account as nodes hand it out. */
export type Account = { readonly owner: PublicKey; readonly data: Buffer } | null;

/** What an initialized nonce account holds: version u32, state u32, authority, value, fee. */
export interface Nonce {
  readonly authority: string;
  readonly value: string;
}

/** null for what is no nonce account, or one that was not initialized. */
export function decodeNonce(account: Account): Nonce | null {
  if (!account?.owner.equals(SystemProgram.programId) || account.data.length !== NONCE_BYTES || account.data.readUInt32LE(4) !== 1) return null;
  const key = (at: number) => new PublicKey(account.data.subarray(at, at + 32)).toBase58();
  return { authority: key(8), value: key(40) };
}

/** The seed of a lane's account: it derives from the fee payer, so there is no key to keep. */
export const laneSeed = (lane: number): string => `coinop-payouts-${lane}`;

/** The nonce account of a lane: sha256(fee payer ‖ seed ‖ system program), as the system program derives it. */
export function laneAddress(feePayer: PublicKey, lane: number): PublicKey {
  const parts = [feePayer.toBuffer(), Buffer.from(laneSeed(lane)), SystemProgram.programId.toBuffer()];
  return new PublicKey(createHash('sha256').update(Buffer.concat(parts)).digest());
}
