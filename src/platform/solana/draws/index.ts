/** The public API of the draws program, which stores the commitments of rounds on the chain. Specification: programs/draws/README.md. */

export { COMMITMENT_BYTES, DRAWS_BYTES, decodeCommitment, decodeDraws } from './accounts.ts';
export { commitmentAddress, drawsAddress } from './addresses.ts';
export { drawsError } from './errors.ts';
export { commitRound, initDraws, rotateCommitter } from './instructions.ts';
export { type DrawsProgramState, drawsProgramState } from './program.ts';
