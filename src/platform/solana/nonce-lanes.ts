import { createHash } from 'node:crypto';
import { type Account, type Address, addressOfBytes, type Instruction } from './primitives.ts';
import { openNonceAccount, SYSTEM_PROGRAM, transferLamports } from './system-program.ts';

/** Returns the seed of a payout lane's nonce account. The address is derived from the fee payer and this seed, so the account needs no private key. */
export const laneSeed = (lane: number): string => `coinop-payouts-${lane}`;

/** Returns the address of a lane's nonce account. The system program derives the same address: sha256(fee payer ‖ seed ‖ system program). */
export function laneAddress(feePayer: Address, lane: number): Address {
  const parts = [feePayer.toBytes(), Buffer.from(laneSeed(lane)), SYSTEM_PROGRAM.toBytes()];
  return addressOfBytes(createHash('sha256').update(Buffer.concat(parts)).digest());
}

/**
 * Builds the instructions that open the nonce account of a lane. Payer and fee payer must sign. Uses transfer, allocate and initialize instead of
 * CreateAccountWithSeed, because CreateAccountWithSeed fails when the address already holds lamports, and any wallet can send lamports to the address.
 * @param account the account at the address of the lane
 * @param rent the rent-exempt minimum balance of a nonce account, lamports
 * @returns the instructions, and the lamports that the payer transfers
 */
export function laneOpening(
  { payer, feePayer, lane }: { payer: Address; feePayer: Address; lane: number },
  account: Pick<Account, 'lamports'> | null,
  rent: number,
): { instructions: Instruction[]; lamports: number } {
  const address = laneAddress(feePayer, lane);
  const lamports = Math.max(0, rent - (account?.lamports ?? 0));
  const transfer = lamports > 0 ? [transferLamports(payer, address, lamports)] : [];
  return { instructions: [...transfer, ...openNonceAccount({ address, authority: feePayer, seed: laneSeed(lane) })], lamports };
}
