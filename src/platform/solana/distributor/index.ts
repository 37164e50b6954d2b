/** The on-chain program that pays rewards: programs/distributor/README.md is its contract. */

export type { EpochAccount, EpochState, PageAccount } from './accounts.ts';
export { CLAIMS_PER_PAGE, decodeEpoch, decodePage, EPOCH_BYTES, isClaimed, pageBytes } from './accounts.ts';
export { epochAddress, pageAddress, pageOf, vaultAddress } from './addresses.ts';
export { deployedProgramMatches, programBytesAddress, programDataAddress, UPGRADEABLE_LOADER } from './deployed.ts';
export type { DistributorError } from './errors.ts';
export { distributorError } from './errors.ts';
export type { ParsedClaim } from './instructions.ts';
export { claimReward, closeEpoch, closePage, MAX_PROOF, openEpoch, parseClaim, settleEpoch } from './instructions.ts';
