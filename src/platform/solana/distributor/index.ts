/** The public API of the distributor, the on-chain program that pays rewards. Specification: programs/distributor/README.md. */

export type { EpochAccount } from './accounts.ts';
export { CLAIMS_PER_PAGE, decodeEpoch, decodePage, EPOCH_BYTES, isClaimed, pageBytes } from './accounts.ts';
export { epochAddress, pageAddress, pageOf, vaultAddress } from './addresses.ts';
export { distributorError } from './errors.ts';
export { claimReward, closeEpoch, closePage, MAX_PROOF, openEpoch, parseClaim, settleEpoch } from './instructions.ts';
export { checkDistributor, type DistributorCheck, distributorProblem, readDistributor, reportDistributor } from './program.ts';
