import type { Tx } from '#platform/db/transaction.ts';
import { submit } from '#platform/solana/submission/index.ts';
import { epochRoot } from '../chain/root.ts';
import { markSettled } from '../chain/settlement.ts';
import { epochComputed } from '../events.ts';

/** An epoch whose leaves, total and root were just computed. */
interface ComputedEpoch {
  epoch: number;
  state: 'computed' | 'empty';
  leaves: number;
  /** Base units as text. */
  total: string;
  undistributed: string;
  /** Hex; null when there are no leaves. */
  root: string | null;
  /** Whether an operator requested its settlement during the computation. */
  settleRequested: boolean;
}

/** Emits the event of a computed epoch, and submits its root or settles it, in the same transaction. */
export async function onComputed(tx: Tx, computed: ComputedEpoch): Promise<void> {
  const { epoch, state, leaves, total, undistributed, root } = computed;
  tx.emit(epochComputed, { epoch, status: state, leaves, total, undistributed, root });
  if (computed.settleRequested) await markSettled(tx, [epoch]);
  else if (state === 'computed') await submit(tx, epochRoot, [String(epoch)]);
}
