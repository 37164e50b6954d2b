import { drawCommitment } from '#areas/lottery';
import { advanceNonce, openPayoutLane, payoutBatch } from '#areas/payouts';
import { claim, epochClose, epochPageClose, epochRoot, epochSettle } from '#areas/rewards';
import type { TransactionType } from '#platform/solana/submission/transactions.ts';

/** Every kind of transaction that is signed for the chain. */
const all: readonly TransactionType[] = [
  epochRoot,
  epochSettle,
  epochClose,
  epochPageClose,
  claim,
  payoutBatch,
  advanceNonce,
  openPayoutLane,
  drawCommitment,
];

/** By the name that their rows carry. */
export const transactionTypes: ReadonlyMap<string, TransactionType> = new Map(all.map((kind) => [kind.name, kind]));
