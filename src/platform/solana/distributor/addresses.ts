import { type Address, deriveAddress } from '../primitives.ts';
import { associatedTokenAddress, u64 } from '../tokens.ts';
import { CLAIMS_PER_PAGE } from './accounts.ts';

/**
 * Encodes an unsigned 32-bit integer, little-endian.
 * @throws RangeError when the value is not in 0 to 2^32 − 1
 */
export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Derives the address of an epoch account. Each pair of authority and mint has its own epoch numbers. */
export function epochAddress(program: Address, authority: Address, mint: Address, epoch: bigint): Address {
  return deriveAddress(program, Buffer.from('epoch'), authority.toBuffer(), mint.toBuffer(), u64(epoch));
}

/** Derives the address of the vault, which holds the tokens of an epoch. The vault is the associated token account of the epoch account. */
export const vaultAddress = (epochAccount: Address, mint: Address): Address => associatedTokenAddress(epochAccount, mint);

/** Returns the number of the bitmap page that records a claim. */
export const pageOf = (index: number): number => Math.floor(index / CLAIMS_PER_PAGE);

/** Derives the address of a bitmap page. The first claim on a page creates the account of the page. */
export function pageAddress(program: Address, epochAccount: Address, page: number): Address {
  return deriveAddress(program, Buffer.from('claimed'), epochAccount.toBuffer(), u32(page));
}
