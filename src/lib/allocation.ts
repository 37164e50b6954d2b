/**
 * The formula that divides the pool of an epoch among wallets, in whole base units. Formula 1:
 *
 * 1. A wallet with points ≤ 0 gets nothing, and its points are not counted.
 * 2. The share of a wallet is pool × points / total points. A wallet whose share reaches `cap` gets exactly `cap`. The rest of the pool is
 *    divided among the other wallets in proportion to their points, and this step repeats until no further share reaches `cap`.
 *    If the pool suffices to pay `cap` to every wallet, each share is `cap`. Otherwise each share is min(cap, λ × points), with the same number
 *    λ for all wallets, so that the shares sum to the pool.
 * 3. Shares are rounded down. The units left over by rounding are given, one each, to the wallets with the largest remainders. Equal
 *    remainders are ordered by the address as text (bytes ascending).
 * 4. Amounts below `dust` are not paid and are not divided among other wallets, so no wallet gains when the amount of another wallet is small.
 *
 * Unpaid base units are undistributed and stay in the vault. The result depends only on rules, wallets and points. More points never give
 * fewer tokens, and equal points differ by at most one base unit.
 */
export const FORMULA = 1;

/** The rules of an epoch. Amounts are in base units, each at most 2^64 − 1. */
export interface Rules {
  readonly pool: bigint;
  /** Maximum amount per wallet; null = the whole pool. */
  readonly cap: bigint | null;
  /** Minimum amount that is paid. */
  readonly dust: bigint;
}

/**
 * The result of the division. `amountOf` computes the amount of any wallet from these values, the wallet's points and its address. Amounts are in
 * base units.
 */
export interface Shares {
  readonly cap: bigint;
  readonly dust: bigint;
  /** Wallets with at least this many points get `cap`; null when no wallet reaches `cap`. */
  readonly cappedFrom: bigint | null;
  /** Base units divided among the wallets below `cap`. */
  readonly rest: bigint;
  /** Total points of the wallets below `cap`. */
  readonly points: bigint;
  /**
   * The remainder at which rounding up ends. Shares with a greater remainder are rounded up. Of the shares with exactly this remainder, only those of
   * the wallets up to `lastEqual`, in the order of the addresses, are rounded up. `lastEqual` is null when no share with exactly this remainder is
   * rounded up.
   */
  readonly remainder: bigint;
  readonly lastEqual: string | null;
}

interface Allocation {
  readonly shares: Shares;
  /** One amount per wallet, in the order of the wallets; 0 for wallets that get nothing. */
  readonly amounts: BigUint64Array;
  /** Sum of the amounts. The rest of the pool is undistributed. */
  readonly total: bigint;
}

/**
 * Finds the capped wallets and the rest of the pool. The search starts at the most points and goes down, because wallets with more points reach the
 * cap first.
 * @param ascending points of all wallets, from the fewest to the most
 */
function withCap(pool: bigint, cap: bigint, ascending: BigInt64Array): Pick<Shares, 'cappedFrom' | 'rest' | 'points'> {
  let rest = pool;
  let points = 0n;
  for (const own of ascending) if (own > 0n) points += own;
  let cappedFrom: bigint | null = null;
  for (let i = ascending.length - 1; i >= 0; i--) {
    const own = ascending[i] ?? 0n;
    if (own <= 0n || rest * own < cap * points) break;
    cappedFrom = own;
    rest = rest > cap ? rest - cap : 0n;
    points -= own;
  }
  return { cappedFrom, rest, points };
}

/**
 * Divides a pool among wallets.
 * @param points one number per wallet, in ascending order of the wallets' addresses as text; a wallet with points ≤ 0 gets nothing
 * @param walletAt function that returns the address at an index of `points`
 * @throws RangeError when the points of the uncapped wallets sum to 2^63 or more
 */
export function allocate({ pool, cap: given, dust }: Rules, points: BigInt64Array, walletAt: (index: number) => string): Allocation {
  const cap = given === null || given > pool ? pool : given;
  const capped = withCap(pool, cap, points.slice().sort());
  const { cappedFrom, rest, points: shared } = capped;
  if (shared >= 2n ** 63n) throw new RangeError('the points of an epoch must sum to less than 2^63');
  const amounts = new BigUint64Array(points.length);
  const remainders = new BigUint64Array(points.length);
  let left = shared > 0n ? rest : 0n;
  for (const [i, own] of points.entries()) {
    if (own <= 0n) continue;
    if (cappedFrom !== null && own >= cappedFrom) {
      amounts[i] = cap;
      continue;
    }
    const product = own * rest;
    const amount = product / shared;
    amounts[i] = amount;
    remainders[i] = product - amount * shared;
    left -= amount;
  }
  // A remainder of 0 is never rounded up, because the number of remainders above 0 is equal to or greater than the number of left-over units.
  const units = Number(left);
  const remainder = units === 0 ? shared : (remainders.slice().sort()[remainders.length - units] ?? shared);
  let above = 0;
  for (const own of remainders) if (own > remainder) above++;
  let equal = units - above;
  let last: number | null = null;
  for (const [i, own] of remainders.entries()) {
    if (own < remainder || own === 0n || (own === remainder && equal === 0)) continue;
    amounts[i] = (amounts[i] ?? 0n) + 1n;
    if (own > remainder) continue;
    equal--;
    last = i;
  }
  let total = 0n;
  for (const [i, amount] of amounts.entries()) {
    if (amount < dust) amounts[i] = 0n;
    else total += amount;
  }
  return { shares: { cap, dust, ...capped, remainder, lastEqual: last === null ? null : walletAt(last) }, amounts, total };
}

/**
 * Returns the amount of one wallet, base units. For a wallet whose points were part of the division, the result equals the amount from `allocate`.
 * For any other wallet or points, the result is an estimate.
 */
export function amountOf(shares: Shares, wallet: string, points: bigint): bigint {
  const { cap, dust, cappedFrom, rest, points: shared, remainder, lastEqual } = shares;
  if (points <= 0n) return 0n;
  let amount = cap;
  if (cappedFrom === null || points < cappedFrom) {
    // If no wallet below `cap` has points, the divisor is this wallet's own points, so the estimate for this wallet is the whole rest.
    const of = shared > 0n ? shared : points;
    const over = (points * rest) % of;
    const isRoundedUp = over > remainder || (over > 0n && over === remainder && lastEqual !== null && wallet <= lastEqual);
    amount = (points * rest) / of + (shared > 0n && isRoundedUp ? 1n : 0n);
  }
  if (amount > cap) amount = cap;
  return amount < dust ? 0n : amount;
}
