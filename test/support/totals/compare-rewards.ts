import { expect } from '@jest/globals';
import { handlers } from '#workers/handlers.ts';
import { retryUntilPass } from '../areas/player.ts';
import type { History } from './history.ts';
import type { Model } from './model.ts';
import { call, readAll } from './requests.ts';
import { sum } from './rows.ts';

const POOL = 1_000_003n;
const CAP = 400_000n;

/** Returns the points that rewards count on a day, by wallet, in the order of the addresses; without banned wallets and wallets that have no points. */
function rewardedPoints(model: Model, day: number): (readonly [wallet: string, points: number])[] {
  const rows = model.rows.filter((row) => row.mode === 'regular' && row.rewards && row.kind !== 'conversion' && row.day === day);
  const byWallet = Map.groupBy(rows, ({ wallet }) => wallet);
  return [...byWallet]
    .map(([wallet, own]) => [wallet, sum(own)] as const)
    .filter(([wallet, points]) => points > 0 && !model.banned.has(wallet))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Divides the pool of a day by the documented formula, in the plainest way. */
function divide(points: readonly (readonly [wallet: string, points: number])[]): Map<string, bigint> {
  const amounts = new Map<string, bigint>();
  let [rest, open] = [POOL, points.map(([wallet, own]) => ({ wallet, own: BigInt(own) }))];
  for (;;) {
    const all = open.reduce((total, { own }) => total + own, 0n);
    const reaching = open.filter(({ own }) => rest * own >= CAP * all);
    if (reaching.length === 0) {
      const shares = open.map(({ wallet, own }) => ({ wallet, amount: (rest * own) / all, remainder: (rest * own) % all }));
      let left = all === 0n ? 0n : shares.reduce((total, { amount }) => total - amount, rest);
      shares.sort((a, b) => (a.remainder === b.remainder ? (a.wallet < b.wallet ? -1 : 1) : a.remainder > b.remainder ? -1 : 1));
      for (const { wallet, amount } of shares) {
        amounts.set(wallet, amount + (left > 0n ? 1n : 0n));
        left -= 1n;
      }
      return amounts;
    }
    for (const { wallet } of reaching) amounts.set(wallet, CAP);
    rest -= CAP * BigInt(reaching.length);
    open = open.filter((one) => !reaching.includes(one));
  }
}

/** Compares the epochs of the closed days, the rewards of each wallet, and the points of today that count for rewards. */
export async function compareRewards(history: History): Promise<void> {
  const claimable = await compareEpochs(history);
  // The projection of today is cached for half a second.
  await handlers.projectDay(history.t.app, {});
  await comparePool(history);
  await Promise.all(history.players.map(({ wallet }) => compareWallet(history, wallet, claimable.get(wallet) ?? [])));
}

/** A reward of a wallet. */
interface Reward {
  readonly epoch: number;
  readonly amount: string;
}

/** Compares the epochs of the closed days. @returns the rewards of each wallet */
async function compareEpochs({ admin, model }: History): Promise<Map<string, Reward[]>> {
  const last = model.closed;
  const epochs = await readAll<{ epoch: number }>(admin, '/api/rewards/epochs');
  const days = last === null ? [] : Array.from({ length: last - model.firstDay + 1 }, (_, i) => model.firstDay + i);
  expect(epochs.map(({ epoch }) => epoch)).toEqual(days);
  const claimable = new Map<string, Reward[]>();
  for (const epoch of days) {
    const points = rewardedPoints(model, epoch);
    const amounts = divide(points);
    const total = totalOf(amounts);
    const paid = [...amounts.values()].filter((amount) => amount > 0n).length;
    const sums = { epoch, wallets: points.length, leaves: paid, points: points.reduce((all, [, own]) => all + own, 0) };
    const expected = { ...sums, total: String(total), undistributed: String(POOL - total) };
    expect(epochs.find((one) => one.epoch === epoch)).toMatchObject({ ...expected, status: paid === 0 ? 'empty' : 'computed' });
    const response = await admin(`/api/rewards/epoch/${epoch}/leaves`);
    const [header, ...lines] = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line));
    expect(header).toMatchObject(expected);
    const found = lines.map(({ wallet, points: own, amount }) => ({ wallet, own, amount }));
    const leaves = points.map(([wallet, own]) => ({ wallet, own, amount: String(amounts.get(wallet)) }));
    expect({ epoch, leaves: found.sort((a, b) => (String(a.wallet) < String(b.wallet) ? -1 : 1)) }).toEqual({ epoch, leaves });
    for (const [wallet, amount] of amounts)
      if (amount > 0n) claimable.set(wallet, [...(claimable.get(wallet) ?? []), { epoch, amount: String(amount) }]);
  }
  return claimable;
}

const totalOf = (amounts: Map<string, bigint>) => [...amounts.values()].reduce((all, amount) => all + amount, 0n);

/** Compares the pool of today, divided as if the day ended. */
async function comparePool({ admin, model }: History): Promise<void> {
  const points = rewardedPoints(model, model.today);
  const total = totalOf(divide(points));
  await retryUntilPass(async () => {
    expect(await call(admin, '/api/rewards/pool/today')).toMatchObject({
      ...{ epoch: model.today, participants: points.length, points: points.reduce((all, [, own]) => all + own, 0) },
      ...{ total: String(total), undistributed: String(POOL - total) },
    });
  }, 2_000);
}

async function compareWallet({ admin, model }: History, wallet: string, expected: readonly Reward[]): Promise<void> {
  const rewards = await readAll<Reward>(admin, `/api/rewards/wallet/${wallet}/claimable`);
  expect(rewards.map(({ epoch, amount }) => ({ epoch, amount }))).toEqual(expected);
  const rows = model.rows.filter((row) => row.wallet === wallet && row.mode === 'regular' && row.rewards && row.day === model.today);
  // A banned wallet gets no reward, so its projection shows no points.
  const points = model.banned.has(wallet) ? 0 : sum(rows);
  const amount = String(divide(rewardedPoints(model, model.today)).get(wallet) ?? 0n);
  expect(await call(admin, `/api/rewards/wallet/${wallet}/projected`)).toMatchObject({ epoch: model.today, wallet, points, amount });
}
