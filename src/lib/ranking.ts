/**
 * The one ranking of the service: competition rank "1224" (ties share a rank, the next rank skips).
 * Ties are listed by address, descending, as `ZRANGE … REV` lists them.
 */
export interface Standing {
  rank: number | null;
  score: number;
  /** Share of the listed wallets that rank no better than this one, in percent with two decimals; null when unranked. */
  percentile: number | null;
}

/**
 * `percentile = 100 × (n − rank + 1) / n`, rounded to two decimals.
 * @param rank competition rank, 1 = best
 * @param n how many wallets are listed
 */
export function percentile(rank: number, n: number): number {
  return Math.round((10_000 * (n - rank + 1)) / n) / 100;
}

/** What rank endpoints answer: no rank for a wallet that is not listed. */
export function standing(rank: number | null, score: number, n: number): Standing {
  return { rank, score, percentile: rank === null ? null : percentile(rank, n) };
}

/**
 * Competition ranks of one page of a board that is sorted best first.
 * @param firstRank rank of the page's first value
 * @param offset zero-based position of the page's first value
 */
export function ranksOfPage(values: readonly (number | string)[], firstRank: number, offset: number): number[] {
  let rank = firstRank;
  return values.map((value, i) => {
    if (i > 0 && value !== values[i - 1]) rank = offset + i + 1;
    return rank;
  });
}

/** A board as a wallet's neighbourhood: what a score is answered with. */
export interface Neighbourhood {
  rank: number | null;
  score: number;
  percentile: number | null;
  /** What is missing to the next better score; null for the best and the unranked. */
  pointsToNext: number | null;
  neighbours: { rank: number; wallet: string; score: number }[];
}

export const UNRANKED: Neighbourhood = { rank: null, score: 0, percentile: null, pointsToNext: null, neighbours: [] };
