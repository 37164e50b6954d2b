import { drawCommitment } from '#areas/lottery';
import { advanceNonce, openPayoutLane, payoutBatch } from '#areas/payouts';
import { claim, epochClose, epochPageClose, epochRoot, epochSettle, rentSweep } from '#areas/rewards';
import type { TransactionType } from '#platform/solana/submission/index.ts';

/** Every type of transaction that the service signs. */
const all: readonly TransactionType[] = [
  epochRoot,
  epochSettle,
  epochClose,
  epochPageClose,
  rentSweep,
  claim,
  payoutBatch,
  advanceNonce,
  openPayoutLane,
  drawCommitment,
];

/** The transaction types, by the name that rows of `chain_transactions` store. */
export const transactionTypes: ReadonlyMap<string, TransactionType> = new Map(all.map((kind) => [kind.name, kind]));
