/**
 * Points of the curve as percentages of all wallets with points, counted from the best-paid wallet (5 stands for the best-paid 5 percent of the
 * wallets).
 */
const TOP_PERCENTS = [1, 5, 10, 25, 50, 75, 100] as const;

/** One point of the distribution curve: the sum of the amounts that the best-paid wallets get. */
export interface CurvePoint {
  /** Percentage of all wallets with points that this curve point includes, counted from the best-paid wallet. */
  top: number;
  wallets: number;
  /** Sum of the amounts of these wallets, base units as text. */
  amount: string;
  /** Percentage of the pool that these wallets get, rounded down to two decimals. */
  share: number;
}

/**
 * Returns the points of the distribution curve of a pool.
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
