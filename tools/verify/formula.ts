/**
 * The published formula, written down once more and as plainly as it goes: it shares no line with the service's own.
 * pool × points / all points; whoever would reach the cap gets the cap, and the rest is shared among the others; rounded down, what that
 * leaves over goes to the largest remainders, one unit each, of equal ones to the first address; amounts below dust are not paid.
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

/** Whether a wallet is capped, and what the others share. */
function capped(pool: bigint, cap: bigint, wallets: readonly Points[]) {
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

/** What each wallet is paid, base units; those that are not paid are left out. */
export function amountsOf(rules: Pool, all: readonly Points[]): Map<string, bigint> {
  const wallets = all.filter(({ points }) => points > 0n).toSorted(byAddress);
  const cap = rules.cap === null || rules.cap > rules.pool ? rules.pool : rules.cap;
  const { among, rest, points } = capped(rules.pool, cap, wallets);
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
  // Sorting keeps the order of addresses among equals.
  remainders.sort((a, b) => (a.remainder > b.remainder ? -1 : a.remainder < b.remainder ? 1 : 0));
  if (points > 0n) for (const { wallet } of remainders.slice(0, Number(left))) amounts.set(wallet, (amounts.get(wallet) ?? 0n) + 1n);
  return new Map([...amounts].filter(([, amount]) => amount > 0n && amount >= rules.dust));
}
