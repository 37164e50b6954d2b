import type { ScoreStatus } from './schemas.ts';

/** Reasons with the threshold of a rule. A wallet does not read them, because a threshold would tell a bot how to stay below it. */
const WITH_THRESHOLD = / per second, above the limit of \d+$/;

/**
 * Returns why a score is held, rejected or voided, for its wallet; null for an accepted score.
 * @param decided whether a moderator or a ban decided about the score
 */
export function publicReason({ status, reasons, decided }: { status: ScoreStatus; reasons: readonly string[]; decided: boolean }): string | null {
  if (status === 'accepted') return null;
  // The reasons of the rules come first, the reason of the last decision comes last.
  const reason = decided ? reasons.at(-1) : reasons[0];
  if (reason !== undefined && !WITH_THRESHOLD.test(reason)) return reason;
  return status === 'held' ? 'a rule of the game asks a moderator to check the score' : `a moderator ${status} the score`;
}
