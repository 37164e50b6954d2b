/**
 * A position in a ranking. All boards use the competition rank: equal scores share a rank, and the ranks after a shared rank are skipped (1, 2, 2,
 * 4). Equal scores are listed by address, descending, as `ZRANGE … REV` lists them.
 */
interface Standing {
  rank: number | null;
  score: number;
  /** Percentage of the listed wallets whose rank is the same or worse, with two decimals; null when this wallet is unranked. */
  percentile: number | null;
}

/**
 * Returns `100 × (n − rank + 1) / n`, rounded to two decimals.
 * @param rank position on the board by competition rank, 1 = best
 * @param n number of listed wallets
 */
export function percentile(rank: number, n: number): number {
  return Math.round((10_000 * (n - rank + 1)) / n) / 100;
}

/** Builds the response of rank endpoints: rank and percentile are null for a wallet that is not listed. */
export function standing(rank: number | null, score: number, n: number): Standing {
  return { rank, score, percentile: rank === null ? null : percentile(rank, n) };
}

/**
 * Returns the competition ranks of one page of a board that is sorted from best to worst.
 * @param firstRank rank of the page's first value
 * @param offset zero-based position of the page's first value on the board
 */
export function ranksOfPage(values: readonly (number | string)[], firstRank: number, offset: number): number[] {
  let rank = firstRank;
  return values.map((value, i) => {
    if (i > 0 && value !== values[i - 1]) rank = offset + i + 1;
    return rank;
  });
}

/** The rank of a wallet and its neighbours on a board; part of the response to a score. */
export interface Neighbourhood {
  rank: number | null;
  score: number;
  percentile: number | null;
  /** Difference to the next better score; null for the wallet with the best score and for unranked wallets. */
  pointsToNext: number | null;
  neighbours: { rank: number; wallet: string; score: number }[];
}

export const UNRANKED: Neighbourhood = { rank: null, score: 0, percentile: null, pointsToNext: null, neighbours: [] };
