import type { FetchedAccount } from '#platform/solana/primitives.ts';
import { parseAddress } from '#platform/solana/primitives.ts';

/** Address of the clock of the cluster. */
export const CLOCK = parseAddress('SysvarC1ock11111111111111111111111111111111');
/** Offset of the time in the data of the clock: after slot, start of the epoch, epoch, and epoch of the next leader schedule (8 bytes each). */
const TIME_OFFSET = 32;

/** Returns the time of the cluster's clock, ms since 1970. */
export function clockTime(account: FetchedAccount): number {
  if (account === null || account.data.length < TIME_OFFSET + 8) throw new Error('the RPC node returned no clock');
  return Number(account.data.readBigInt64LE(TIME_OFFSET)) * 1_000;
}
