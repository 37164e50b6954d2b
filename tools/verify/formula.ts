/**
 * The published allocation formula, implemented independently of the service. The share of a wallet is pool × points / total points; the pool is the
 * amount to allocate. A wallet whose share reaches the cap (the maximum amount per wallet) gets the cap, and the rest of the pool is divided among
 * the other wallets. Shares are rounded down. The units that remain after rounding go to the wallets with the largest remainders, one unit each;
 * wallets with equal remainders are ordered by address. Amounts below dust (the minimum payment) are not paid.
 */

export interface Points {
  readonly wallet: string;
  readonly points: bigint;
}

export interface Pool {
  readonly pool: bigint;
  readonly cap: bigint | null;
  readonly dust: bigint;
}

const byAddress = (a: Points, b: Points) => (a.wallet < b.wallet ? -1 : 1);

/** Returns the wallets whose share reaches the cap, the rest of the pool, and the total points of the wallets that share this rest. */
function findCapped(pool: bigint, cap: bigint, wallets: readonly Points[]) {
  const among = new Set<string>();
  let rest = pool;
  let points = wallets.reduce((sum, own) => sum + own.points, 0n);
  for (const own of wallets.toSorted((a, b) => (a.points > b.points ? -1 : a.points < b.points ? 1 : 0))) {
    if (rest * own.points < cap * points) break;
    among.add(own.wallet);
    rest = rest > cap ? rest - cap : 0n;
    points -= own.points;
  }
  return { among, rest, points };
}

/** Computes the amount of each paid wallet, base units; unpaid wallets are omitted. */
export function computeAmounts(rules: Pool, all: readonly Points[]): Map<string, bigint> {
  const wallets = all.filter(({ points }) => points > 0n).toSorted(byAddress);
  const cap = rules.cap === null || rules.cap > rules.pool ? rules.pool : rules.cap;
  const { among, rest, points } = findCapped(rules.pool, cap, wallets);
  const amounts = new Map<string, bigint>();
  const remainders: { wallet: string; remainder: bigint }[] = [];
  let left = rest;
  for (const own of wallets) {
    if (among.has(own.wallet)) {
      amounts.set(own.wallet, cap);
      continue;
    }
    const amount = (rest * own.points) / points;
    amounts.set(own.wallet, amount);
    left -= amount;
    remainders.push({ wallet: own.wallet, remainder: (rest * own.points) % points });
  }
  // The sort is stable, so wallets with equal remainders stay ordered by address.
  remainders.sort((a, b) => (a.remainder > b.remainder ? -1 : a.remainder < b.remainder ? 1 : 0));
  if (points > 0n) for (const { wallet } of remainders.slice(0, Number(left))) amounts.set(wallet, (amounts.get(wallet) ?? 0n) + 1n);
  return new Map([...amounts].filter(([, amount]) => amount > 0n && amount >= rules.dust));
}
