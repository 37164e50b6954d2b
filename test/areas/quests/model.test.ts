import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Activity, type Consumer, openDay } from '#areas/points';
import { questConsumer } from '#areas/quests';
import { windowOf } from '#areas/quests/windows.ts';
import { newId } from '#lib/ids.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { act, consume, earned, makeQuest, ownQuest } from '#test/support/areas/quests.ts';
import { createWallet, signIn } from '#test/support/wallet.ts';

const DAY = 86_400_000;
const chance = (share: number) => Math.random() < share;
const pick = <T>(from: readonly T[]): T => from[randomInt(from.length)] as T;

test.each([
  ['2026-01-01', '2026-W01'],
  ['2027-01-01', '2026-W53'],
  ['2027-01-04', '2027-W01'],
  ['2024-12-30', '2025-W01'],
  ['2026-11-22', '2026-W47'],
])('%s is in the ISO week %s', (day, key) => {
  const number = Date.parse(day) / DAY;
  const window = windowOf('weekly', 0, null, number);
  expect([window.key, window.last - window.first, window.resetsAt?.getUTCDay()]).toEqual([key, 6, 1]);
  expect(window.first <= number && number <= window.last).toBe(true);
});

/** The quests of the random histories. */
const QUESTS = [
  { requirement: { type: 'plays', count: 12 }, repeat: 'once' },
  { requirement: { type: 'plays', count: 3, gameId: 'alpha' }, repeat: 'daily' },
  {
    requirement: {
      all: [
        { type: 'scores', count: 6 },
        { type: 'bestScore', atLeast: 700, gameId: 'beta' },
      ],
    },
    repeat: 'weekly',
  },
  {
    requirement: {
      any: [
        { type: 'streak', days: 4 },
        {
          all: [
            { type: 'clips', count: 4 },
            { type: 'burned', amount: '900' },
          ],
        },
      ],
    },
    repeat: 'once',
  },
  { requirement: { type: 'referrals', count: 3 }, repeat: 'weekly' },
] as const;

type ModelActivity = Pick<Activity, 'kind' | 'gameId'> & { id: string; amount: number; day: number };

/** A reference model: recomputes everything from the full history of a wallet. */
class Model {
  readonly done: ModelActivity[] = [];
  readonly voided = new Set<string>();
  readonly earned: Record<string, number> = {};

  #in(first: number, last: number, kind: string, gameId?: string): ModelActivity[] {
    return this.done.filter(
      (d) => d.kind === kind && d.day >= first && d.day <= last && !this.voided.has(d.id) && (gameId === undefined || d.gameId === gameId),
    );
  }

  streak(day: number): number {
    const active = (d: number) => this.done.some((one) => one.day === d && one.kind !== 'bind' && !this.voided.has(one.id));
    let at = active(day) ? day : day - 1;
    let n = 0;
    while (active(at)) {
      n += 1;
      at -= 1;
    }
    return n;
  }

  /** Computes `have` per condition of quest `n`, and whether its requirement is met. */
  progress(n: number, first: number, last: number, day: number): { have: (number | string)[]; met: boolean } {
    const [plays, alpha] = [this.#in(first, last, 'play').length, this.#in(first, last, 'play', 'alpha').length];
    const scores = this.#in(first, last, 'score').filter((d) => d.gameId !== 'unverified').length;
    const best = Math.max(0, ...this.#in(first, last, 'score', 'beta').map((d) => d.amount));
    const burned = this.#in(first, last, 'burn').reduce((sum, d) => sum + d.amount, 0);
    const clips = this.#in(first, last, 'clip').length;
    const binds = this.#in(first, last, 'bind').length;
    const streak = this.streak(day);
    switch (n) {
      case 0:
        return { have: [plays], met: plays >= 12 };
      case 1:
        return { have: [alpha], met: alpha >= 3 };
      case 2:
        return { have: [scores, best], met: scores >= 6 && best >= 700 };
      case 3:
        return { have: [Math.min(streak, 4), clips, String(burned)], met: streak >= 4 || (clips >= 4 && burned >= 900) };
      default:
        return { have: [binds], met: binds >= 3 };
    }
  }
}

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  for (const id of ['alpha', 'beta']) await registerGame(t.url, ADMIN_TOKEN, id);
  await registerGame(t.url, ADMIN_TOKEN, 'unverified', { ...TEST_GAME, verification: 'none' });
});
afterAll(() => t.close());

test('progress and points equal those of a reference model, over days, voids and failing consumers', async () => {
  let day = Math.floor(Date.now() / DAY) + 3;
  const noon = async () => await t.clock.set(new Date(day * DAY + DAY / 2));
  await noon();
  const start = day;
  const ids = [];
  for (const quest of QUESTS) ids.push(await makeQuest(t, { ...quest, points: 100 }));
  const keys = Array.from({ length: 4 }, createWallet);
  const models = new Map(keys.map(({ address }) => [address, new Model()]));
  const windowAt = (n: number, at: number) => windowOf(QUESTS[n]?.repeat ?? 'once', start, null, at);

  /**
   * Rolls the batch back with probability 0.3. The error code requests a retry of the whole batch: one activity at a time, a quest could
   * be completed between a score and its void.
   */
  const failingConsumer = (): Consumer => {
    let willFail = chance(0.3);
    return {
      ...questConsumer,
      consume: async (app, tx, open, activities) => {
        const entries = await questConsumer.consume(app, tx, open, activities);
        if (!willFail) return entries;
        willFail = false;
        throw Object.assign(new Error('lost'), { code: '40001' });
      },
    };
  };

  for (let step = 0; step < 60; step++) {
    if (chance(0.4)) {
      day += chance(0.85) ? 1 : 2;
      await noon();
    }
    const batch: Parameters<typeof act>[1][] = [];
    const moved = new Set<string>();
    for (let i = randomInt(1, 12); i > 0; i--) {
      const { address: wallet } = pick(keys);
      const model = models.get(wallet);
      const voidable = model?.done.filter((d) => d.kind === 'score' && !model.voided.has(d.id)) ?? [];
      if (voidable.length > 0 && chance(0.12)) {
        const { id, amount, gameId } = pick(voidable);
        model?.voided.add(id);
        batch.push({ kind: 'void', wallet, gameId, amount: -amount, sourceId: id });
        continue;
      }
      const kind = pick(['play', 'play', 'score', 'score', 'clip', 'burn', 'bind'] as const);
      const isGame = kind === 'play' || kind === 'score';
      const gameId = isGame ? pick(kind === 'score' ? ['alpha', 'beta', 'unverified'] : ['alpha', 'beta']) : null;
      const amount = kind === 'score' ? randomInt(1_000) : kind === 'burn' ? randomInt(1, 400) : 0;
      const id = newId();
      model?.done.push({ kind, gameId, amount, id, day });
      batch.push({ kind, wallet, gameId, amount, sourceId: id });
      moved.add(wallet);
    }
    await act(t.app, ...batch);
    await consume(t.app, failingConsumer()).catch((error: unknown) => expect(String(error)).toContain('lost'));
    await consume(t.app);
    for (const wallet of moved) {
      const model = models.get(wallet);
      if (!model) continue;
      const bonus = Math.min(50, 5 * Math.max(0, model.streak(day) - 1));
      for (const [n, id] of ids.entries()) {
        const { key, first, last } = windowAt(n, day);
        if (model.progress(n, first, last, day).met) model.earned[`${id}:${key}`] ??= 100 + bonus;
      }
    }
    const { address: wallet } = pick(keys);
    const key = keys.find(({ address }) => address === wallet);
    const model = models.get(wallet);
    const player = await signIn(t, key);
    for (const [n, id] of ids.entries()) {
      const { first, last } = windowAt(n, day);
      const own = await ownQuest(player, id);
      expect({ step, n, have: own?.progress.map(({ have }) => have) }).toEqual({ step, n, have: model?.progress(n, first, last, day).have });
    }
  }
  for (const [wallet, model] of models) {
    // The third part of a cause numbers the voids of a completion, and their ends.
    const given = Object.entries(await earned(t.app, wallet)).filter(([cause]) => cause.split(':').length === 2);
    expect(Object.fromEntries(given)).toEqual(model.earned);
  }
  expect(await t.app.tx(openDay)).toMatchObject({ day });
});
