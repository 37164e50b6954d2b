import { createHash } from 'node:crypto';
import { type Address, addressOfBytes } from '#platform/solana/primitives.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';

/** Returns the seed of a lane's nonce account. The address is derived from the fee payer and this seed, so the account needs no private key. */
export const laneSeed = (lane: number): string => `coinop-payouts-${lane}`;

/** Returns the address of a lane's nonce account. The system program derives the same address: sha256(fee payer ‖ seed ‖ system program). */
export function laneAddress(feePayer: Address, lane: number): Address {
  const parts = [feePayer.toBytes(), Buffer.from(laneSeed(lane)), SYSTEM_PROGRAM.toBytes()];
  return addressOfBytes(createHash('sha256').update(Buffer.concat(parts)).digest());
}
