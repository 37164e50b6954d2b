import { SYSVAR_PROGRAM } from '../keys.ts';
import type { SlotClock } from './slots.ts';
import type { Account } from './svm.ts';

/** The clock sysvar as it stands in a slot: slot, start of the epoch, epoch, epoch of the next leaders, unix seconds. */
export function clockSysvar(clock: SlotClock, slot: number, slotsPerEpoch: number): Account {
  const at = Math.min(slot, clock.slot);
  const epoch = Math.floor(at / slotsPerEpoch);
  const data = new BigInt64Array([at, 0, epoch, epoch + 1, clock.unixSeconds(at)].map(BigInt));
  return { lamports: 1_169_280n, owner: SYSVAR_PROGRAM, executable: false, data: new Uint8Array(data.buffer) };
}
