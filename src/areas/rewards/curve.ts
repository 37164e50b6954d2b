/** The parts of the wallets that a distribution is told for, best first, percent. */
const PARTS = [1, 5, 10, 25, 50, 75, 100] as const;

/** What the best so many percent of the wallets get together. */
export interface CurvePoint {
  /** Percent of the wallets, those that get most. */
  top: number;
  wallets: number;
  /** Base units as text. */
  amount: string;
  /** Percent of the pool, two decimals. */
  share: number;
}

/**
 * How a pool is spread over wallets.
 * @param amounts of all wallets with points, 0 for those that get nothing
 */
export function distributionCurve(amounts: BigUint64Array, pool: bigint): CurvePoint[] {
  if (amounts.length === 0) return [];
  const ascending = amounts.slice().sort();
  let amount = 0n;
  let taken = 0;
  return PARTS.map((top) => {
    const wallets = Math.ceil((ascending.length * top) / 100);
    for (; taken < wallets; taken++) amount += ascending[ascending.length - 1 - taken] ?? 0n;
    return { top, wallets, amount: String(amount), share: pool === 0n ? 0 : Number((amount * 10_000n) / pool) / 100 };
  });
}
