/** The public API of the area rewards: epochs with their leaves and proofs, claims, and the transaction types of both. */
export { epochClose, epochPageClose, epochSettle } from './chain/end.ts';
export { expireEpochs } from './chain/expire.ts';
export { followEpochs } from './chain/follow.ts';
export { epochRoot } from './chain/root.ts';
export { claim } from './claims/transaction-type.ts';
export { computeEpoch } from './epochs/compute.ts';
export { sweepEpochs } from './epochs/trigger.ts';
export { projectDay } from './projection/projection.ts';
