/** Percentages for which the distribution curve has an entry. A percentage of 5 stands for the best-paid 5 percent of all wallets with points. */
const TOP_PERCENTS = [1, 5, 10, 25, 50, 75, 100] as const;

/** One entry of the distribution curve: the sum of the amounts that the best-paid wallets get. */
export interface CurvePoint {
  /** Percentage of all wallets with points that this entry includes, counted from the best-paid wallet. */
  top: number;
  wallets: number;
  /** Sum of the amounts of the included wallets, base units as text. */
  amount: string;
  /** Percentage of the pool that the included wallets get, rounded down to two decimals. */
  share: number;
}

/**
 * Returns the distribution curve of a pool.
 * @param amounts amounts of all wallets with points; 0 for a wallet that gets nothing
 */
export function distributionCurve(amounts: BigUint64Array, pool: bigint): CurvePoint[] {
  if (amounts.length === 0) return [];
  const ascending = amounts.slice().sort();
  let amount = 0n;
  let taken = 0;
  return TOP_PERCENTS.map((top) => {
    const wallets = Math.ceil((ascending.length * top) / 100);
    for (; taken < wallets; taken++) amount += ascending[ascending.length - 1 - taken] ?? 0n;
    return { top, wallets, amount: String(amount), share: pool === 0n ? 0 : Number((amount * 10_000n) / pool) / 100 };
  });
}
