/** The public API of the area rewards: epochs with their leaves and proofs, claims, and the transaction types of both. */
export { epochClose, epochPageClose } from './chain/end.ts';
export { expireEpochs } from './chain/expire.ts';
export { followEpochs } from './chain/follow.ts';
export { epochRoot } from './chain/root.ts';
export { epochSettle } from './chain/settle.ts';
export { findClaimSignatures } from './chain/signatures.ts';
export { claim } from './claims/transaction-type.ts';
export { putApprovedRules } from './config.ts';
export { computeEpoch } from './epochs/compute.ts';
export { sweepEpochs } from './epochs/trigger.ts';
export { refuseImport, startApprovedImport } from './import/import.ts';
export { projectDay } from './projection/projection.ts';
export { noteRestoreOnce, reconcileRoots } from './restores/reconcile.ts';
