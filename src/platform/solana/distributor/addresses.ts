import { PublicKey } from '@solana/web3.js';
import { associatedTokenAddress, u64 } from '../tokens.ts';
import { CLAIMS_PER_PAGE } from './accounts.ts';

/** Little-endian. @throws RangeError outside 0 to 2^32 − 1 */
export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Where the epoch of this number is, or would be. Each authority and mint has numbers of its own. */
export function epochAddress(program: PublicKey, authority: PublicKey, mint: PublicKey, epoch: bigint): PublicKey {
  return PublicKey.findProgramAddressSync([Buffer.from('epoch'), authority.toBuffer(), mint.toBuffer(), u64(epoch)], program)[0];
}

/** Where the tokens of an epoch are: its own associated token account. */
export const vaultAddress = (epochAccount: PublicKey, mint: PublicKey): PublicKey => associatedTokenAddress(epochAccount, mint);

/** The number of the page that holds the bit of a claim. */
export const pageOf = (index: number): number => Math.floor(index / CLAIMS_PER_PAGE);

/** Where a page of an epoch's bitmap is. There is none before the first claim that needs it. */
export function pageAddress(program: PublicKey, epochAccount: PublicKey, page: number): PublicKey {
  return PublicKey.findProgramAddressSync([Buffer.from('claimed'), epochAccount.toBuffer(), u32(page)], program)[0];
}
