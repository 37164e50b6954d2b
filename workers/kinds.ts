import { drawCommitment } from '../src/areas/lottery/lottery.ts';
import { advanceNonce, openPayoutLane, payoutBatch } from '../src/areas/payouts/payouts.ts';
import { claim, epochClose, epochPageClose, epochRoot, epochSettle } from '../src/areas/rewards/rewards.ts';
import type { Kind } from '../src/chain/transactions.ts';

/** Every kind of transaction that is signed for the chain. */
const all: readonly Kind[] = [epochRoot, epochSettle, epochClose, epochPageClose, claim, payoutBatch, advanceNonce, openPayoutLane, drawCommitment];

/** By the name that their rows carry. */
export const kinds: ReadonlyMap<string, Kind> = new Map(all.map((kind) => [kind.name, kind]));
