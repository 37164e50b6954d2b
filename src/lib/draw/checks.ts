import type { DrawsAccount } from './accounts.ts';
import type { LandedCommitment } from './audit.ts';
import { type BeaconChain, timeOf } from './beacon-chain.ts';
import { instantOf, millis } from './bytes.ts';
import type { Entry } from './entry.ts';
import { firstDifference, type Mismatch } from './mismatch.ts';
import type { RoundParameters } from './parameters.ts';

/** Tolerated difference between the chain's clock and the wall clock, seconds. */
export const CLOCK_TOLERANCE_SEC = 60;

type DrawsFacts = DrawsAccount & { readonly address: string };

/** Checks that the parameters name the draws account and that their lead fits into the limits of the account. */
export function checkParameters({ draws, leadSec }: RoundParameters, account: DrawsFacts): Mismatch | null {
  if (draws !== account.address) return { where: 'parameters.draws', reason: `is ${draws}, but must be ${account.address}` };
  const longest = account.margin + account.window - CLOCK_TOLERANCE_SEC;
  // A development account may have limits that leave no room for the tolerance.
  if (account.isDevelopment || leadSec <= longest) return null;
  return { where: 'parameters.leadSec', reason: `must be at most ${longest} seconds, the limits of the draws account less ${CLOCK_TOLERANCE_SEC}` };
}

/** Checks that the draws account has the schedule of the beacon chain. */
export function checkBeaconFacts({ chainHash, period, genesis }: DrawsAccount, chain: BeaconChain): Mismatch | null {
  const expected = { chainHash: chain.chainHash, period: chain.period, genesis: chain.genesisTime };
  return firstDifference(expected, { chainHash, period, genesis }, 'draws');
}

/** Checks the time of the close. A chat round closes exactly at `closesAt`; a legacy round may close earlier. */
export function checkClose({ kind, opensAt, closesAt }: RoundParameters, closedAt: number): Mismatch | null {
  const where = 'closed.statement.closedAt';
  if (closedAt > millis(closesAt)) return { where, reason: `is after closesAt, ${closesAt}` };
  if (kind === 'chat' && closedAt !== millis(closesAt)) return { where, reason: `must be closesAt, ${closesAt}` };
  return closedAt < millis(opensAt) ? { where, reason: `is before opensAt, ${opensAt}` } : null;
}

/** Checks that no entry was accepted after the close. */
export function checkEntryTimes(entries: readonly Entry[], closedAt: number): Mismatch | null {
  const late = entries.find(({ at }) => millis(at) > closedAt);
  return late === undefined ? null : { where: `entries[${late.index}].at`, reason: `is after the close, ${instantOf(closedAt)}` };
}

/** Checks that the commitment was made after the close, and its beacon round neither too soon nor too long after the commitment. */
export function checkTimes(
  { leadSec }: RoundParameters,
  { margin, period, genesis }: DrawsAccount,
  closedAt: number,
  { at, beaconRound }: LandedCommitment,
): Mismatch | null {
  const committedAt = millis(at);
  const ahead = (timeOf({ period, genesisTime: genesis }, beaconRound) - committedAt) / 1_000;
  if (committedAt < closedAt - CLOCK_TOLERANCE_SEC * 1_000) return { where: 'commitment.at', reason: `is before the close, ${instantOf(closedAt)}` };
  if (ahead < margin)
    return { where: 'commitment.beaconRound', reason: `is ${ahead} s after the commitment, but must be at least ${margin} s after` };
  const longest = leadSec + CLOCK_TOLERANCE_SEC;
  return ahead <= longest
    ? null
    : { where: 'commitment.beaconRound', reason: `is ${ahead} s after the commitment, but must be at most ${longest} s after` };
}

/** Returns whether the commitment was made later than `commitWithinSec` after the close. */
export const isCommittedLate = ({ commitWithinSec }: RoundParameters, closedAt: number, { at }: LandedCommitment): boolean =>
  millis(at) > closedAt + commitWithinSec * 1_000;
