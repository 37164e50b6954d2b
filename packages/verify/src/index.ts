/**
 * Verification from public data: of a lottery round by the house's documents, the chain and the randomness beacon, of the rewards of an epoch by the
 * house's documents and the chain (docs/verification.md), and of a score by its replay (docs/replays.md). Runs in browsers and in Node.
 */
export { QUICKNET } from '../../../src/lib/draw/beacon-chain.ts';
export type { EpochPins } from './epoch/account.ts';
export { type EpochOptions, type EpochVerification, verifyEpoch } from './epoch.ts';
export type { RoundResult } from './known.ts';
export { KNOWN_DISTRIBUTOR, KNOWN_PROGRAM } from './known-program.ts';
export { programHash } from './program.ts';
export { EXIT_CODES, type OnStep, type Step, type Verdict } from './report.ts';
export { type Pins, type Verification, type VerifyOptions, verifyRound } from './round.ts';
export { type ScoreOptions, type ScoreVerification, verifyScore } from './score.ts';
export { type Answer, DRAND_URLS, type HttpSource, httpSource, mirrors, RpcFault, type RpcSource, rpcSource, Unreadable } from './sources.ts';
