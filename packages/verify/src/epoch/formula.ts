/**
 * The published allocation formula, implemented independently of the service. The share of a wallet is pool × points / total points; the pool is the
 * amount to allocate. A wallet whose share reaches the cap (the maximum amount per wallet) gets the cap, and the rest of the pool is divided among
 * the other wallets. Shares are rounded down. The units that remain after rounding go to the wallets with the largest remainders, one unit each;
 * wallets with equal remainders are ordered by address. Amounts below dust (the minimum payment) are not paid.
 */

export interface Points {
  readonly wallet: string;
  /** null counts as 0. */
  readonly points: bigint | null;
}

export interface Pool {
  readonly pool: bigint;
  readonly cap: bigint | null;
  readonly dust: bigint;
}

/** The share of a wallet that does not reach the cap. `at` is the place of the wallet in the given list. */
interface Share {
  readonly at: number;
  readonly wallet: string;
  readonly remainder: bigint;
}

/** Orders shares by remainder, the largest first. Equal remainders are ordered by address. */
function compareShares(a: Share, b: Share): number {
  if (a.remainder !== b.remainder) return a.remainder > b.remainder ? -1 : 1;
  return a.wallet < b.wallet ? -1 : 1;
}

/**
 * Returns the fewest points whose share reaches the cap (null when no share does), the rest of the pool, and the total points of the wallets that
 * share this rest. Wallets with equal points are capped together, because the share of a wallet does not fall when an equal one gets its cap.
 */
function findCapped(pool: bigint, cap: bigint, wallets: readonly Points[]) {
  const sorted = new BigInt64Array(wallets.length);
  let [rest, points, count] = [pool, 0n, 0];
  for (const { points: own } of wallets) {
    if (own === null || own <= 0n) continue;
    sorted[count++] = own;
    points += own;
  }
  let fewest: bigint | null = null;
  for (const own of sorted.subarray(0, count).sort().reverse()) {
    if (rest * own < cap * points) break;
    fewest = own;
    rest -= cap;
    points -= own;
  }
  return { fewest, rest, points };
}

/** Computes the amount of each wallet, base units, in the order of the given list. The amount of a wallet that is not paid is 0. */
export function computeAmounts({ pool, cap: limit, dust }: Pool, wallets: readonly Points[]): bigint[] {
  const cap = limit === null || limit > pool ? pool : limit;
  const { fewest, rest, points } = findCapped(pool, cap, wallets);
  const amounts: bigint[] = [];
  const shares: Share[] = [];
  let left = rest;
  for (const { wallet, points: own } of wallets) {
    if (own === null || own <= 0n) amounts.push(0n);
    else if (fewest !== null && own >= fewest) amounts.push(cap);
    else {
      const amount = (rest * own) / points;
      shares.push({ at: amounts.length, wallet, remainder: rest * own - amount * points });
      amounts.push(amount);
      left -= amount;
    }
  }
  for (const { at } of shares.sort(compareShares).slice(0, Number(left))) amounts[at] = (amounts[at] ?? 0n) + 1n;
  return amounts.map((amount) => (amount < dust ? 0n : amount));
}
