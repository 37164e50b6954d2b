/** The shares of wallets, best paid first, that the curve has points for, percent. */
const TOP_PERCENTS = [1, 5, 10, 25, 50, 75, 100] as const;

/** The sum of the amounts of the best-paid wallets. */
export interface CurvePoint {
  /** Share of the wallets, best paid first, percent. */
  top: number;
  wallets: number;
  /** Base units as text. */
  amount: string;
  /** Share of the pool, percent with two decimals. */
  share: number;
}

/**
 * Returns how a pool is distributed over wallets.
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
