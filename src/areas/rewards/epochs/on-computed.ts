import type { Tx } from '#platform/db/transaction.ts';
import { submit } from '#platform/solana/submission/index.ts';
import { SETTLE } from '../chain/settlement.ts';
import { epochComputed } from '../events.ts';
import { submitReviewed } from '../review/submit.ts';

/** A computed epoch. The transaction that stores its leaves, total and root has not committed yet. */
interface ComputedEpoch {
  epoch: number;
  /** Number of the allocation, from 1. */
  allocation: number;
  state: 'computed' | 'empty';
  leaves: number;
  /** Sum of all leaves, base units as text. */
  total: string;
  undistributed: string;
  /** Root of the Merkle tree, hex; null when the epoch has no leaves. */
  root: string | null;
  /** Whether an operator requested to settle the epoch while it was being computed. */
  settleRequested: boolean;
}

/**
 * Emits the event of a computed epoch. If a settlement was requested, submits the settlement. Otherwise submits the root of the epoch, if it has
 * leaves and no review. A sweep submits the root of a reviewed epoch when its review is over.
 */
export async function onComputed(tx: Tx, computed: ComputedEpoch): Promise<void> {
  const { epoch, allocation, state, leaves, total, undistributed, root } = computed;
  tx.emit(epochComputed, { epoch, allocation, status: state, leaves, total, undistributed, root });
  if (computed.settleRequested) await submit(tx, SETTLE, [String(epoch)]);
  else await submitReviewed(tx, [epoch]);
}
