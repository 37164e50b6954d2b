/** The door of rewards: epochs, their leaves and proofs, claims, and what of it happens on the chain. */
export { epochClose, epochPageClose, epochSettle } from './chain/end.ts';
export { expireEpochs } from './chain/expire.ts';
export { followEpochs } from './chain/follow.ts';
export { epochRoot } from './chain/root.ts';
export { claim } from './claims/transaction-type.ts';
export { computeEpoch } from './compute.ts';
export { projectDay } from './projection.ts';
export { readProof } from './proofs.ts';
export { sweepEpochs } from './trigger.ts';
