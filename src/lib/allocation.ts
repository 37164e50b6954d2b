/**
 * How the pool of an epoch is shared out, in whole base units. Formula 1:
 *
 * 1. Wallets with points ≤ 0 get nothing and count for nothing.
 * 2. Everyone's share is pool × points / all points. Whose share would reach `cap` gets exactly `cap`, and what is left of
 *    the pool is shared among the others in proportion to their points, until nobody else would reach it. (The result is
 *    min(cap, λ × points) for the one λ that uses up the pool, or `cap` for all.)
 * 3. Shares are rounded down. The units that this leaves over go, one each, to the largest remainders; of equal
 *    remainders, to the wallet whose address comes first as text (bytes ascending).
 * 4. Amounts below `dust` are not paid. They are not shared out again: nobody gains by others' being small.
 *
 * What is not paid is undistributed and stays where it is. The result depends on nothing but rules, wallets and points;
 * more points are never less tokens, and equal points differ by one unit at most.
 */
export const FORMULA = 1;

/** What an epoch gives, base units, each at most 2^64 − 1. */
export interface Rules {
  readonly pool: bigint;
  /** The most that one wallet gets; null = the whole pool. */
  readonly cap: bigint | null;
  /** The least that is paid. */
  readonly dust: bigint;
}

/**
 * What decides an amount, once the points of all are known: enough to tell any wallet its amount from its points alone.
 * Base units and points.
 */
export interface Shares {
  readonly cap: bigint;
  readonly dust: bigint;
  /** Who has at least these points gets `cap`; null: nobody does. */
  readonly cappedFrom: bigint | null;
  /** What the others share, and their points. */
  readonly rest: bigint;
  readonly points: bigint;
  /** Remainders above this one are rounded up; of those equal to it, the wallets up to `lastEqual`. */
  readonly remainder: bigint;
  readonly lastEqual: string | null;
}

export interface Allocation {
  readonly shares: Shares;
  /** One per wallet, in their order; 0 for those that get nothing. */
  readonly amounts: BigUint64Array;
  /** Their sum. The rest of the pool is undistributed. */
  readonly total: bigint;
}

/** Who is capped, and what the others share: from the most points downwards, because who has more is capped first. */
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
 * Shares a pool out.
 * @param points of wallets in ascending order of their addresses as text; those ≤ 0 get nothing
 * @param walletAt the address at a place
 */
export function allocate({ pool, cap: given, dust }: Rules, points: BigInt64Array, walletAt: (place: number) => string): Allocation {
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
  // Fewer units are left than there are remainders above 0, so a remainder of 0 is never rounded up.
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
 * The amount of one wallet. For the wallets and points that the shares were made of it is what `allocate` gives them; for
 * others it is what they would get at these shares.
 */
export function amountOf(shares: Shares, wallet: string, points: bigint): bigint {
  const { cap, dust, cappedFrom, rest, points: shared, remainder, lastEqual } = shares;
  if (points <= 0n) return 0n;
  let amount = cap;
  if (cappedFrom === null || points < cappedFrom) {
    // Nobody shares the rest yet: it is all for the first who does.
    const of = shared > 0n ? shared : points;
    const over = (points * rest) % of;
    const isRoundedUp = over > remainder || (over > 0n && over === remainder && lastEqual !== null && wallet <= lastEqual);
    amount = (points * rest) / of + (shared > 0n && isRoundedUp ? 1n : 0n);
  }
  if (amount > cap) amount = cap;
  return amount < dust ? 0n : amount;
}
