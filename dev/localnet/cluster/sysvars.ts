import { SYSVAR_PROGRAM } from '../keys.ts';
import type { SlotClock } from './slots.ts';
import type { SvmAccount } from './svm.ts';

/**
 * Returns the clock sysvar account at a slot. Its data contains slot, start of the epoch, epoch, epoch of the next leader schedule, and unix seconds.
 */
export function clockSysvar(clock: SlotClock, slot: number, slotsPerEpoch: number): SvmAccount {
  const at = Math.min(slot, clock.slot);
  const epoch = Math.floor(at / slotsPerEpoch);
  const data = new BigInt64Array([at, 0, epoch, epoch + 1, clock.unixSeconds(at)].map(BigInt));
  return { lamports: 1_169_280n, owner: SYSVAR_PROGRAM, executable: false, data: new Uint8Array(data.buffer) };
}
