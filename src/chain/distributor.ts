/** The on-chain program that pays rewards: programs/distributor/README.md is its contract. */

export type { EpochAccount, EpochState, PageAccount } from './distributor/accounts.ts';
export { CLAIMS_PER_PAGE, decodeEpoch, decodePage, EPOCH_BYTES, isClaimed, pageBytes } from './distributor/accounts.ts';
export { epochAddress, pageAddress, pageOf, vaultAddress } from './distributor/addresses.ts';
export { deployedProgramMatches, programBytesAddress, programDataAddress, UPGRADEABLE_LOADER } from './distributor/deployed.ts';
export type { DistributorError } from './distributor/errors.ts';
export { distributorError } from './distributor/errors.ts';
export type { ParsedClaim } from './distributor/instructions.ts';
export { claimReward, closeEpoch, closePage, MAX_PROOF, openEpoch, parseClaim, settleEpoch } from './distributor/instructions.ts';
