/** Rules of the multiplier, basis points (1/100 %). Ledger entries name them by `RULE`. */
export const RULE = 1;
export const WHOLE = 10_000;
const PER_DAY = 500;
const MOST_OF_STREAK = 5_000;
const LINKED = 1_000;
const HOLDING = 1_500;
export const MOST = 20_000;

/** The longest streak that makes a difference, days. */
export const STREAK_DAYS = MOST_OF_STREAK / PER_DAY + 1;

/** What a wallet's multiplier comes from. */
export interface Standing {
  /** Consecutive UTC days with any activity; the first one adds nothing. */
  readonly streakDays: number;
  /** Whether any account elsewhere is linked. */
  readonly linked: boolean;
  /** Whether it holds enough of the reward token; null where that is not known. */
  readonly holding: boolean | null;
}

/** What each factor adds, basis points. */
export const bonuses = ({ streakDays, linked, holding }: Standing) => ({
  streak: Math.min(MOST_OF_STREAK, Math.max(0, streakDays - 1) * PER_DAY),
  linked: linked ? LINKED : 0,
  holding: holding === true ? HOLDING : 0,
});

/** The multiplier of quest points, basis points: the factors added up, capped. */
export function multiplierOf(standing: Standing): number {
  const { streak, linked, holding } = bonuses(standing);
  return Math.min(MOST, WHOLE + streak + linked + holding);
}

/** Points of a quest with the multiplier, whole. */
export const multiplied = (points: number, basisPoints: number): number => Math.floor((points * basisPoints) / WHOLE);

/** Basis points as a factor with two decimals at most. */
export const asFactor = (basisPoints: number): number => Math.round(basisPoints / 100) / 100;

/** What a ledger entry keeps, so that it can be computed again. */
export interface Factors extends Standing {
  readonly rule: number;
  readonly questVersion: number;
  readonly basePoints: number;
  readonly basisPoints: number;
}
