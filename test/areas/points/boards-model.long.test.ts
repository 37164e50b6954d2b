import { expect, test } from '@jest/globals';
import { applyToBoard, closeEndedPeriods, gameBoard, rankChanges, readPage, readRank, readSummary, rebuildBoard, refreshBoards } from '#areas/points';
import { bucketOf, dayNumber, PERIODS, type Span } from '#lib/periods.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { BoardModel, randomGenerator } from '#test/support/areas/board-model.ts';
import { type BoardUpdate, createGame, givePoints, loseBoards, readRunId, scoreBest } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAMES = ['alpha-run', 'beta-run'] as const;
const POINT_BOARDS = ['global', 'quests', 'referrals'] as const;
const BOARDS = [...POINT_BOARDS, ...GAMES.map(gameBoard)];
const isPointBoard = (board: string): board is (typeof POINT_BOARDS)[number] => POINT_BOARDS.some((one) => one === board);
const HOUR = 3_600_000;
/** A Thursday; its week, month and year end within days. */
const START = new Date('2030-12-26T05:00:00Z');
const FIRST = dayNumber(START);

/** A random history of writes that is applied to the application and to the model. */
class History {
  readonly model = new BoardModel();
  readonly wallets = Array.from({ length: 12 }, () => createWallet().address);
  readonly t: TestApp;
  readonly random: ReturnType<typeof randomGenerator>;

  constructor(t: TestApp, seed: number) {
    this.t = t;
    this.random = randomGenerator(seed);
  }

  #wallet = () => this.wallets[this.random.int(0, this.wallets.length - 1)] ?? '';
  #way = (): BoardUpdate => this.random.pick(['apply', 'apply', 'refresh']);

  async give(): Promise<void> {
    const wallet = this.#wallet();
    const kind = this.random.pick(['game', 'game', 'quest', 'quest', 'referral', 'conversion']);
    const mode = this.random.pick(['regular', 'regular', 'regular', 'regular', 'beta']);
    const points = this.random.pick([1, 1, 1, -1]) * this.random.int(1, 6);
    const day = await givePoints(this.t.app, { wallet, points, kind, mode }, this.#way());
    if (mode === 'beta') return;
    this.model.add({ board: 'global', wallet, day, value: points, allTimeOnly: kind === 'conversion' });
    if (kind === 'quest') this.model.add({ board: 'quests', wallet, day, value: points });
    if (kind === 'referral') this.model.add({ board: 'referrals', wallet, day, value: points });
  }

  async score(): Promise<void> {
    const score = { wallet: this.#wallet(), gameId: this.random.pick(GAMES), value: this.random.int(0, 9) };
    const mode = this.random.pick(['regular', 'regular', 'regular', 'beta']);
    const day = await scoreBest(this.t.app, { ...score, mode }, this.#way());
    if (mode === 'regular') this.model.add({ board: gameBoard(score.gameId), wallet: score.wallet, day, value: score.value });
  }

  async pass(hours: number): Promise<void> {
    await this.t.clock.set(new Date(this.t.clock.now().getTime() + hours * HOUR));
  }

  async rebuild(): Promise<void> {
    for (const board of BOARDS) await rebuildBoard(this.t.app, board);
  }

  async step(): Promise<void> {
    const dice = this.random.int(1, 100);
    if (dice <= 45) await this.give();
    else if (dice <= 80) await this.score();
    else if (dice <= 90) await this.pass(this.random.int(1, 20));
    else if (dice <= 93) await this.pass(this.random.int(24, 70));
    else if (dice <= 95) await loseBoards(this.t.app, 'all');
    else if (dice <= 97) await this.rebuild();
    else await closeEndedPeriods(this.t.app);
  }

  /** Compares every board, period, page, rank and neighbourhood with the model. */
  async compare(): Promise<void> {
    await refreshBoards(this.t.app);
    // Waits until the one-second cache of pages that were read by SQL expires.
    await this.pass(2 / 3600);
    const today = dayNumber(this.t.clock.now());
    for (const board of BOARDS) {
      await this.#compareOne(board, 'all', undefined);
      for (const period of PERIODS) {
        for (let day = FIRST - 1; day < today; day++) {
          if (bucketOf(period, day) !== bucketOf(period, day + 1)) await this.#compareOne(board, period, day);
        }
        await this.#compareOne(board, period, this.random.pick([undefined, today]));
      }
    }
  }

  async #compareOne(board: string, span: Span, at: number | undefined): Promise<void> {
    const { app } = this.t;
    const day = at ?? dayNumber(this.t.clock.now());
    const list = this.model.list(board, span, day);
    const limit = this.random.int(1, 6);
    const offset = this.random.int(0, 8);
    const caller = this.#wallet();
    const from = Math.max(Math.min(list.findIndex((line) => line.wallet === caller) - Math.floor(limit / 2), list.length - limit), 0);
    const [whole, part, around, ...places] = await Promise.all([
      readPage(app, board, { span, at, limit: 500, offset: 0 }),
      readPage(app, board, { span, at, limit, offset }),
      readPage(app, board, { span, at, limit, offset, around: caller }),
      ...this.wallets.map((wallet) => readRank(app, board, { span, at, wallet })),
    ]);
    const where = `${board} ${span} ${day - FIRST}`;
    expect({ where, total: whole.total, entries: whole.entries }).toEqual({ where, total: list.length, entries: list });
    expect({ where, total: part.total, entries: part.entries }).toEqual({ where, total: list.length, entries: list.slice(offset, offset + limit) });
    expect({ where, total: around.total, entries: around.entries }).toEqual({ where, total: list.length, entries: list.slice(from, from + limit) });
    if (isPointBoard(board)) {
      const { participants, points, topScore } = await readSummary(app, board, { span, at });
      const sum = list.reduce((total, { score }) => total + score, 0);
      expect({ where, participants, points, topScore }).toEqual({ where, participants: list.length, points: sum, topScore: list[0]?.score ?? null });
    }
    expect({ where, places }).toEqual({ where, places: this.wallets.map((wallet) => this.model.neighbourhood(board, span, day, wallet)) });
  }

  /** Compares the ranks that are read only from Redis, for the event stream and for the receipt of a score. */
  async compareRanks(complete: boolean): Promise<void> {
    for (const board of BOARDS) {
      const list = this.model.list(board, 'all', 0);
      const lines = this.wallets.map((wallet) => list.find((line) => line.wallet === wallet));
      const changes = this.wallets.map((wallet, i) => ({ wallet, value: lines[i]?.score ?? null }));
      expect(await rankChanges(this.t.app, board, changes)).toEqual(lines.map((line) => (complete ? (line?.rank ?? null) : null)));
      const told = await applyToBoard(this.t.app, board, dayNumber(this.t.clock.now()), [], this.wallets);
      expect(told).toEqual(complete ? this.wallets.map((wallet) => this.model.neighbourhood(board, 'all', 0, wallet)) : null);
    }
  }
}

test.each(Array.from({ length: Number(process.env.MODEL_SEEDS ?? 2) }, (_, i) => i + 1))(
  'boards match a naive model, from Redis, by SQL and from finals (history %i)',
  async (seed) => {
    const t = await startTestApp({ workers: false });
    try {
      await t.clock.set(START);
      for (const id of GAMES) await createGame(t.app, id);
      const history = new History(t, seed);
      for (let round = 0; round < 3; round++) {
        for (let i = 0; i < 35; i++) await history.step();
        await history.compare();

        await history.rebuild();
        for (const board of BOARDS) expect(await readRunId(t.app, board)).not.toBeNull();
        await history.compare();
        await history.compareRanks(true);

        await loseBoards(t.app, 'ready');
        await history.compare();
        await history.compareRanks(false);

        await closeEndedPeriods(t.app);
        await history.rebuild();
        await history.compare();
      }
      expect(history.model.entries.length).toBeGreaterThan(50);
    } finally {
      await t.close();
    }
  },
  120_000,
);
