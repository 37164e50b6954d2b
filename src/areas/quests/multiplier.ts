/** Version of the multiplier rule in this file. Each ledger entry of a quest stores this version. */
export const RULE = 1;
/** The constants from here to `HOLDING_BONUS` are basis points: 10,000 is a factor of 1. */
const BASE_MULTIPLIER = 10_000;
const STREAK_BONUS_PER_DAY = 500;
const MAX_STREAK_BONUS = 5_000;
const LINKED_BONUS = 1_000;
const HOLDING_BONUS = 1_500;

/** Inputs from which a wallet's multiplier is computed. */
export interface MultiplierInputs {
  /** Number of consecutive UTC days with any activity. The first day adds no bonus. */
  readonly streakDays: number;
  /** Whether the wallet has linked an external account. */
  readonly linked: boolean;
  /** Whether the wallet held enough of the reward token at `holdingAt`; null when this is unknown. */
  readonly holding: boolean | null;
  /** Time at which the balance was read from the chain, ISO 8601 in UTC; null when `holding` is null. Absent in entries of earlier releases. */
  readonly holdingAt?: string | null;
}

/** Returns the bonus that each input gives, basis points. */
export const bonuses = ({ streakDays, linked, holding }: MultiplierInputs) => ({
  streak: Math.min(MAX_STREAK_BONUS, Math.max(0, streakDays - 1) * STREAK_BONUS_PER_DAY),
  linked: linked ? LINKED_BONUS : 0,
  holding: holding === true ? HOLDING_BONUS : 0,
});

/**
 * Returns the highest multiplier that a wallet can reach, basis points.
 * @param hasToken whether a reward token is configured; without it, no wallet gets the bonus for holding
 */
export const maxMultiplier = (hasToken: boolean): number => BASE_MULTIPLIER + MAX_STREAK_BONUS + LINKED_BONUS + (hasToken ? HOLDING_BONUS : 0);

/** Returns the multiplier of quest points, basis points: base plus bonuses. */
export function multiplierOf(inputs: MultiplierInputs): number {
  const { streak, linked, holding } = bonuses(inputs);
  return BASE_MULTIPLIER + streak + linked + holding;
}

/** Returns points times multiplier, rounded down. */
export const applyMultiplier = (points: number, basisPoints: number): number => Math.floor((points * basisPoints) / BASE_MULTIPLIER);

/** Converts basis points into a factor with at most two decimals. */
export const asFactor = (basisPoints: number): number => Math.round(basisPoints / 100) / 100;

/** The inputs that a ledger entry stores, so that an auditor can recompute the points of the entry. */
export interface QuestFactors extends MultiplierInputs {
  readonly rule: number;
  readonly questVersion: number;
  readonly basePoints: number;
  readonly basisPoints: number;
}
