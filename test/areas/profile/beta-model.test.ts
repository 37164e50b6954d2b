import { expect, test } from '@jest/globals';
import { voidScore } from '#areas/arcade/scores/decide.ts';
import { choosePlayerMode, closeEndedPeriods, ensurePlayer, gameBoard, type Mode, readPage, rebuildBoard, refreshBoards } from '#areas/points';
import { convertBeta, modePointsOf, readHoldings } from '#areas/profile';
import { pointsOfDay } from '#areas/rewards/epochs/snapshot.ts';
import { selectExcluded } from '#areas/rewards/review/exclusions.ts';
import { bucketOf, dayNumber, PERIODS, type Period } from '#lib/periods.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { recordScores } from '#test/support/areas/beta.ts';
import { BoardModel, randomGenerator } from '#test/support/areas/board-model.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAMES = ['alpha', 'gamma'] as const;
const BOARDS = ['global', 'quests', 'referrals', ...GAMES.map(gameBoard)];
const RATES = { '1': 1_000_000, '0.5': 500_000, '2.25': 2_250_000, '0.333333': 333_333 } as const;
const HOUR = 3_600_000;
/** A Thursday. A week, a month and a year end within the next days. */
const START = new Date('2030-12-26T05:00:00Z');
const FIRST = dayNumber(START);

interface Row {
  wallet: string;
  mode: Mode;
  kind: 'game' | 'quest' | 'referral' | 'conversion';
  points: number;
  day: number;
  gameId?: string;
  rewards: boolean;
}
interface Score {
  id: string;
  wallet: string;
  mode: Mode;
  gameId: 'alpha' | 'gamma';
  value: number;
  day: number;
  voided: boolean;
}

const sum = (rows: readonly { points: number }[]) => rows.reduce((all, { points }) => all + points, 0);
const sourceOf = (rows: readonly Row[], kind: Row['kind']) => sum(rows.filter((row) => row.kind === kind));

/** A random history, applied to the application and to the model. */
class History {
  readonly wallets = Array.from({ length: 6 }, () => createWallet().address);
  readonly modes = new Map<string, Mode>(this.wallets.map((wallet) => [wallet, 'regular']));
  readonly rows: Row[] = [];
  readonly scores: Score[] = [];
  readonly conversions: { wallet: string; from: number; to: number }[] = [];
  readonly t: TestApp;
  readonly random: ReturnType<typeof randomGenerator>;

  constructor(t: TestApp, seed: number) {
    this.t = t;
    this.random = randomGenerator(seed);
  }

  #wallet = () => this.wallets[this.random.int(0, this.wallets.length - 1)] ?? '';
  #mode = (wallet: string): Mode => this.modes.get(wallet) ?? 'regular';
  #today = () => dayNumber(this.t.clock.now());
  #of = (wallet: string, mode: Mode) => this.rows.filter((row) => row.wallet === wallet && row.mode === mode);

  async begin(): Promise<void> {
    for (const wallet of this.wallets) await this.t.app.tx((tx) => ensurePlayer(tx, wallet));
  }

  async score(): Promise<void> {
    const wallet = this.#wallet();
    const scores = Array.from({ length: this.random.int(1, 3) }, () => ({ gameId: this.random.pick(GAMES), score: this.random.int(0, 9) * 100 }));
    const ids = await recordScores(this.t.app, wallet, scores);
    const [mode, day] = [this.#mode(wallet), this.#today()];
    for (const [i, { gameId, score: value }] of scores.entries()) {
      this.scores.push({ id: ids[i] ?? '', wallet, mode, gameId, value, day, voided: false });
      this.rows.push({ wallet, mode, kind: 'game', points: value / 100, day, gameId, rewards: gameId === 'alpha' });
    }
  }

  async takeBack(): Promise<void> {
    const standing = this.scores.filter(({ voided }) => !voided);
    const score = standing[this.random.int(0, standing.length - 1)];
    if (!score) return;
    await voidScore(this.t.app, score.id, { by: 'test', reason: 'a test' });
    score.voided = true;
    const { wallet, mode, gameId, value } = score;
    this.rows.push({ wallet, mode, kind: 'game', points: -value / 100, day: this.#today(), gameId, rewards: gameId === 'alpha' });
  }

  async give(): Promise<void> {
    const wallet = this.#wallet();
    const given = { wallet, mode: this.#mode(wallet), kind: this.random.pick(['quest', 'referral']), points: this.random.int(1, 5) };
    const day = await givePoints(this.t.app, given);
    this.rows.push({ ...given, day, rewards: true });
  }

  async toggle(): Promise<void> {
    const wallet = this.#wallet();
    const mode: Mode = this.#mode(wallet) === 'beta' ? 'regular' : 'beta';
    const asked = this.random.pick<Mode | null>([null, mode]);
    expect(await this.t.app.tx((tx) => choosePlayerMode(tx, wallet, asked))).toBe(mode);
    this.modes.set(wallet, mode);
  }

  async convert(): Promise<void> {
    const wallet = this.#wallet();
    const rate = this.random.pick(['1', '0.5', '2.25', '0.333333']);
    const from = sum(this.#of(wallet, 'beta'));
    const to = Math.floor((Math.max(from, 0) * RATES[rate]) / 1_000_000);
    const total = sum(this.#of(wallet, 'regular'));
    const done = await this.t.app.tx((tx) => convertBeta(tx, { wallet, rate, by: 'test' }));
    const moved = to > 0 ? { betaPoints: from, points: to, betaTotal: 0, total: total + to } : { id: null, points: 0, betaTotal: from, total };
    expect(done).toMatchObject(moved);
    if (to === 0) return;
    const day = this.#today();
    this.rows.push({ wallet, mode: 'regular', kind: 'conversion', points: to, day, rewards: false });
    this.rows.push({ wallet, mode: 'beta', kind: 'conversion', points: -from, day, rewards: false });
    this.conversions.push({ wallet, from, to });
  }

  async pass(hours: number): Promise<void> {
    await this.t.clock.set(new Date(this.t.clock.now().getTime() + hours * HOUR));
  }

  async step(): Promise<void> {
    const dice = this.random.int(1, 100);
    if (dice <= 40) await this.score();
    else if (dice <= 50) await this.takeBack();
    else if (dice <= 62) await this.give();
    else if (dice <= 77) await this.toggle();
    else if (dice <= 88) await this.convert();
    else if (dice <= 97) await this.pass(this.random.int(1, 20));
    else await closeEndedPeriods(this.t.app);
  }

  /** Compares the boards. They contain regular points and scores only; conversions count for all time only. */
  async compareBoards(): Promise<void> {
    const { app } = this.t;
    await refreshBoards(app);
    // Pages read by SQL are cached for one second.
    await this.pass(2 / 3600);
    const model = new BoardModel();
    for (const { wallet, kind, points, day } of this.rows.filter((row) => row.mode === 'regular')) {
      model.add({ board: 'global', wallet, day, value: points, allTimeOnly: kind === 'conversion' });
      if (kind === 'quest' || kind === 'referral') model.add({ board: `${kind}s`, wallet, day, value: points });
    }
    for (const { wallet, mode, gameId, value, day, voided } of this.scores) {
      if (mode === 'regular' && !voided) model.add({ board: gameBoard(gameId), wallet, day, value });
    }
    for (const board of BOARDS) {
      for (const span of ['all', ...PERIODS] as const) {
        const entries = model.list(board, span, this.#today());
        const found = await readPage(app, board, { span, limit: 500, offset: 0 });
        expect({ board, span, entries: found.entries }).toEqual({ board, span, entries });
      }
    }
  }

  /** Compares the epochs. They count regular points that earn rewards, on the day of the ledger row. */
  async compareEpochs(): Promise<void> {
    for (let day = FIRST; day <= this.#today(); day++) {
      const counted = this.rows.filter((row) => row.mode === 'regular' && row.rewards && row.kind !== 'conversion' && row.day === day);
      const expected = this.wallets
        .map((wallet) => [wallet, sum(counted.filter((row) => row.wallet === wallet))] as const)
        .filter(([, points]) => points > 0)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const found = await this.t.app.tx(async (tx) => {
        const pages = await Array.fromAsync(pointsOfDay(tx, day, selectExcluded(day, 1)));
        return pages.flatMap(({ wallets, values }) => {
          const points = values.split(',').map(Number);
          return wallets.split(',').map((wallet, i) => [wallet, points[i]]);
        });
      });
      expect({ day, found }).toEqual({ day, found: expected });
    }
  }

  async compareWallets(): Promise<void> {
    const now = this.t.clock.now();
    for (const wallet of this.wallets) {
      const holder = await readHoldings(this.t.app, wallet);
      if (!holder) throw new Error('a player is missing');
      expect(holder.mode).toBe(this.#mode(wallet));
      const mine = this.conversions.filter((one) => one.wallet === wallet);
      const [from, to] = [mine.reduce((all, one) => all + one.from, 0), mine.reduce((all, one) => all + one.to, 0)];
      expect([holder.convertedBeta, holder.convertedPoints]).toEqual([from, to]);
      for (const mode of ['regular', 'beta'] as const) expect(modePointsOf(holder, mode, now)).toEqual(this.#expected(wallet, mode, dayNumber(now)));
    }
  }

  #expected(wallet: string, mode: Mode, today: number) {
    const rows = this.#of(wallet, mode);
    const period = (name: Period) => {
      const within = rows.filter((row) => row.kind !== 'conversion' && bucketOf(name, row.day) === bucketOf(name, today));
      return {
        points: sum(within),
        games: sourceOf(within, 'game'),
        quests: sourceOf(within, 'quest'),
        referrals: sourceOf(within, 'referral'),
        adjustments: 0,
      };
    };
    const games = GAMES.map((gameId) => {
      const scores = this.scores.filter((score) => score.wallet === wallet && score.mode === mode && score.gameId === gameId && !score.voided);
      const points = sum(rows.filter((row) => row.gameId === gameId));
      return { gameId, best: Math.max(0, ...scores.map(({ value }) => value)), scores: scores.length, points };
    });
    return {
      total: sum(rows),
      sources: {
        games: sourceOf(rows, 'game'),
        quests: sourceOf(rows, 'quest'),
        referrals: sourceOf(rows, 'referral'),
        adjustments: 0,
        conversions: sourceOf(rows, 'conversion'),
      },
      periods: { day: period('day'), week: period('week'), month: period('month'), year: period('year') },
      games: games.filter(({ scores }) => scores > 0).sort((a, b) => b.best - a.best || (a.gameId < b.gameId ? -1 : 1)),
    };
  }
}

test.each(Array.from({ length: Number(process.env.MODEL_SEEDS ?? 2) }, (_, i) => i + 1))(
  'points, boards, periods and epochs equal those of a reference model (random history %i)',
  async (seed) => {
    const t = await startTestApp({ workers: false, env: { DAILY_POINTS_CAP: '1000000' } });
    try {
      await t.clock.set(START);
      for (const id of GAMES) await registerGame(t.url, ADMIN_TOKEN, id, { ...TEST_GAME, verification: 'none', rewards: id === 'alpha' });
      const history = new History(t, seed);
      await history.begin();
      for (let round = 0; round < 4; round++) {
        for (let i = 0; i < 40; i++) await history.step();
        await history.compareBoards();
        await history.compareEpochs();
        await history.compareWallets();
        // From the second round on, boards are read from Redis.
        if (round === 1) for (const board of BOARDS) await rebuildBoard(t.app, board);
      }
      expect(history.conversions.length).toBeGreaterThan(2);
      const [kept] = await sql<{ n: number }>(t.app, 'select count(*)::int as n from beta_conversions');
      expect(kept?.n).toBe(history.conversions.length);
    } finally {
      await t.close();
    }
  },
  120_000,
);
