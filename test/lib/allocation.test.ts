import { expect, test } from '@jest/globals';
import { allocate, amountOf, type Rules } from '#lib/allocation.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789';
interface Wallet {
  name: string;
  points: bigint;
}

/** Compares fractions as pairs of integers, so that the model needs no rounding. */
const isLess = (a: [bigint, bigint], b: [bigint, bigint]) => a[0] * b[1] < b[0] * a[1];

/** The formula implemented step by step as documented; slow. */
function model({ pool, cap: given, dust }: Rules, wallets: readonly Wallet[]): Map<string, bigint> {
  const cap = given === null || given > pool ? pool : given;
  let open = wallets.filter(({ points }) => points > 0n);
  const amounts = new Map<string, bigint>();
  let rest = pool;
  for (;;) {
    const sum = open.reduce((all, { points }) => all + points, 0n);
    const reaching = open.filter(({ points }) => !isLess([points * rest, sum], [cap, 1n]));
    if (reaching.length === 0) {
      const over = open.map(({ name, points }) => ({ name, remainder: (points * rest) % sum }));
      for (const { name, points } of open) amounts.set(name, (points * rest) / sum);
      const left = rest - [...amounts.values()].reduce((all, amount) => all + amount, 0n) + cap * BigInt(amounts.size - open.length);
      over.sort((a, b) => (a.remainder === b.remainder ? (a.name < b.name ? -1 : 1) : a.remainder > b.remainder ? -1 : 1));
      if (open.length > 0) for (const { name } of over.slice(0, Number(left))) amounts.set(name, (amounts.get(name) ?? 0n) + 1n);
      break;
    }
    for (const { name } of reaching) amounts.set(name, cap);
    rest -= cap * BigInt(reaching.length);
    open = open.filter((wallet) => !reaching.includes(wallet));
  }
  for (const [name, amount] of amounts) if (amount < dust || amount === 0n) amounts.delete(name);
  return amounts;
}

function allocated(rules: Rules, wallets: readonly Wallet[]) {
  const sorted = [...wallets].sort((a, b) => (a.name < b.name ? -1 : 1));
  const points = BigInt64Array.from(sorted, (wallet) => wallet.points);
  const { amounts, total, shares } = allocate(rules, points, (place) => sorted[place]?.name ?? '');
  const paid = new Map<string, bigint>();
  for (const [i, amount] of amounts.entries()) if (amount > 0n) paid.set(sorted[i]?.name ?? '', amount);
  return { paid, total, shares };
}

/** Returns a random case: few or many wallets and values, with and without cap and dust, small and huge pools. */
function randomCase(seed: number): { rules: Rules; wallets: Wallet[] } {
  const random = randomGenerator(seed);
  const big = () => BigInt(random.int(0, 2 ** 30)) * 2n ** 33n + BigInt(random.int(0, 2 ** 32));
  const count = random.pick([0, 1, 2, 3, 7, 20, 60]);
  const most = random.pick([1, 3, 10, 1_000, 1_000_000]);
  const names = new Set<string>();
  while (names.size < count) names.add(Array.from({ length: 6 }, () => LETTERS[random.int(0, LETTERS.length - 1)]).join(''));
  const pool = random.pick([0n, 1n, 5n, 97n, 10_000n, 1_000_003n, big(), 2n ** 64n - 1n]);
  const part = (divisor: number) => pool / BigInt(random.int(1, divisor));
  const cap = random.pick([null, part(4), part(60), pool, 0n]);
  const dust = random.pick([0n, 0n, 1n, part(100), part(20)]);
  return { rules: { pool, cap, dust }, wallets: [...names].map((name) => ({ name, points: BigInt(random.int(random.pick([1, 0, -5]), most)) })) };
}

const CASES = Array.from({ length: 700 }, (_, seed) => randomCase(seed));
const countedOf = (wallets: readonly Wallet[]) => wallets.filter(({ points }) => points > 0n);

test('the allocation equals a slow model of the documented formula in random cases', () => {
  for (const { rules, wallets } of CASES) {
    const { paid } = allocated(rules, wallets);
    expect([...paid].sort()).toEqual([...model(rules, wallets)].sort());
  }
});

test('the amounts sum to the reported total, which is at most the pool', () => {
  for (const { rules, wallets } of CASES) {
    const { paid, total } = allocated(rules, wallets);
    expect([...paid.values()].reduce((sum, amount) => sum + amount, 0n)).toBe(total);
    expect(total <= rules.pool).toBe(true);
  }
});

test('without cap and dust the whole pool is allocated if any wallet has points', () => {
  for (const { rules, wallets } of CASES) {
    const { total } = allocated({ pool: rules.pool, cap: null, dust: 0n }, wallets);
    expect(total).toBe(countedOf(wallets).length > 0 ? rules.pool : 0n);
  }
});

test('with a cap a part of the pool is left only when every wallet has reached the cap', () => {
  for (const { rules, wallets } of CASES) {
    const cap = rules.cap === null || rules.cap > rules.pool ? rules.pool : rules.cap;
    const { total } = allocated({ ...rules, dust: 0n }, wallets);
    const all = cap * BigInt(countedOf(wallets).length);
    expect(total).toBe(all < rules.pool ? all : countedOf(wallets).length === 0 ? 0n : rules.pool);
  }
});

test('no amount is above the cap or below dust, and wallets without points get nothing', () => {
  for (const { rules, wallets } of CASES) {
    const { paid } = allocated(rules, wallets);
    for (const { name, points } of wallets) {
      const amount = paid.get(name);
      if (amount === undefined) continue;
      expect(points > 0n).toBe(true);
      expect(amount >= rules.dust).toBe(true);
      expect(rules.cap === null || amount <= rules.cap).toBe(true);
    }
  }
});

test('more points never give fewer tokens, and amounts for equal points differ by at most one unit', () => {
  for (const { rules, wallets } of CASES) {
    const { paid } = allocated({ ...rules, dust: 0n }, wallets);
    const sorted = [...wallets].sort((a, b) => Number(a.points - b.points));
    for (const [i, wallet] of sorted.entries()) {
      const next = sorted[i + 1];
      if (!next) break;
      const [less, more] = [paid.get(wallet.name) ?? 0n, paid.get(next.name) ?? 0n];
      if (wallet.points < next.points) expect(less <= more).toBe(true);
      else expect(more - less <= 1n && less - more <= 1n).toBe(true);
    }
  }
});

test('of wallets with equal points, the one with the smaller address is rounded up first', () => {
  const wallets = ['d', 'b', 'a', 'c'].map((name) => ({ name, points: 5n }));
  expect([...allocated({ pool: 10n, cap: null, dust: 0n }, wallets).paid].sort()).toEqual([
    ['a', 3n],
    ['b', 3n],
    ['c', 2n],
    ['d', 2n],
  ]);
});

test('amounts below dust are not divided among the other wallets', () => {
  const wallets = [
    { name: 'a', points: 1n },
    { name: 'b', points: 99n },
  ];
  expect(allocated({ pool: 1_000n, cap: null, dust: 11n }, wallets)).toMatchObject({ paid: new Map([['b', 990n]]), total: 990n });
  expect(allocated({ pool: 1_000n, cap: null, dust: 10n }, wallets).total).toBe(1_000n);
});

test('the rest above the cap is divided by points repeatedly until no further wallet reaches the cap', () => {
  const wallets = [600n, 300n, 60n, 40n].map((points, i) => ({ name: 'abcd'.charAt(i), points }));
  // Wallet a reaches the cap, and then b too; 100 points share the other 500.
  expect([...allocated({ pool: 1_100n, cap: 300n, dust: 0n }, wallets).paid]).toEqual([
    ['a', 300n],
    ['b', 300n],
    ['c', 300n],
    ['d', 200n],
  ]);
});

test('the input order of wallets and wallets without points do not change the result', () => {
  for (const { rules, wallets } of CASES.slice(0, 200)) {
    const more = [...wallets].reverse().concat({ name: 'zzzzzzzz', points: 0n }, { name: 'AAAAAAAA', points: -7n });
    expect(allocated(rules, more).paid).toEqual(allocated(rules, wallets).paid);
  }
});

test('amountOf returns the allocated amount of every wallet', () => {
  for (const { rules, wallets } of CASES) {
    const { paid, shares } = allocated(rules, wallets);
    for (const { name, points } of wallets) expect(amountOf(shares, name, points)).toBe(paid.get(name) ?? 0n);
  }
});

test('amountOf of a first wallet is the pool up to the cap, and is never above the cap', () => {
  const nobody = allocated({ pool: 1_000n, cap: 400n, dust: 10n }, []).shares;
  expect([amountOf(nobody, 'a', 5n), amountOf(nobody, 'a', 0n), amountOf(nobody, 'a', -1n)]).toEqual([400n, 0n, 0n]);
  const { shares } = allocated(
    { pool: 1_000n, cap: 400n, dust: 0n },
    ['a', 'b', 'c'].map((name) => ({ name, points: 10n })),
  );
  expect(amountOf(shares, 'newcomer', 1_000_000n)).toBe(400n);
});

test('when one wallet takes the whole pool, the estimate for a wallet with fewer points is nothing', () => {
  const { shares } = allocated({ pool: 1_000n, cap: null, dust: 0n }, [{ name: 'a', points: 10n }]);
  expect(amountOf(shares, 'newcomer', 5n)).toBe(0n);
});

test('the estimate for a newcomer divides the rest by the points of the wallets below the cap', () => {
  const wallets = [
    { name: 'a', points: 10n },
    { name: 'b', points: 1n },
  ];
  const { shares, paid } = allocated({ pool: 1_000n, cap: 600n, dust: 0n }, wallets);
  expect([...paid]).toEqual([
    ['a', 600n],
    ['b', 400n],
  ]);
  // 5 × 400 / 1 = 2,000, which is above the cap.
  expect(amountOf(shares, 'newcomer', 5n)).toBe(600n);
});

test('points that sum to 2^63 are rejected, and points that sum to one less are allocated exactly', () => {
  const half = 2n ** 62n;
  const rules = { pool: 2n ** 64n - 1n, cap: null, dust: 0n };
  const wallets = (second: bigint) => [
    { name: 'a', points: half },
    { name: 'b', points: second },
  ];
  expect(() => allocated(rules, wallets(half))).toThrow('must sum to less than 2^63');
  const { paid, total } = allocated(rules, wallets(half - 1n));
  expect(total).toBe(rules.pool);
  expect([...paid].sort()).toEqual([...model(rules, wallets(half - 1n))].sort());
});

test('the allocation of a million wallets takes seconds', () => {
  const random = randomGenerator(3);
  const points = BigInt64Array.from({ length: 1_000_000 }, () => BigInt(random.int(1, 50_000)));
  const begin = performance.now();
  const { total } = allocate({ pool: 10n ** 18n, cap: 10n ** 14n, dust: 10n ** 10n }, points, String);
  expect(performance.now() - begin).toBeLessThan(5_000);
  expect(total <= 10n ** 18n).toBe(true);
});
