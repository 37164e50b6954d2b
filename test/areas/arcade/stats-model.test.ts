import { expect, test } from '@jest/globals';
import { banWallet, findGame, finishBan, processScores, unbanWallet } from '#areas/arcade';
import { readGameStats } from '#areas/arcade/games/stats.ts';
import { startPlayIn } from '#areas/arcade/plays/start-play.ts';
import { decideScore, voidScore } from '#areas/arcade/scores/decide.ts';
import { choosePlayerMode, gameBoard, type Mode, readPage, rebuildBoard, refreshBoards } from '#areas/points';
import { newId } from '#lib/ids.ts';
import { dayNumber, PERIODS } from '#lib/periods.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { givePoints, loseBoards } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { join } from '#test/support/areas/referrals.ts';
import { createWallet } from '#test/support/wallet.ts';

/** `open` verifies nothing; `verified` demands a play, and holds scores above 2,000. */
const GAMES = ['open', 'verified'] as const;
const GAME_CAP = 150;
const DAILY_CAP = 250;
const HOUR = 3_600_000;
/** A Thursday; its week, month and year end within days. */
const START = new Date('2030-12-26T05:00:00Z');
const DECISION = { by: 'test', reason: 'a test' };

interface PlayedScore {
  id: string;
  wallet: string;
  gameId: string;
  mode: Mode;
  normalized: number;
  points: number;
  day: number;
  status: 'accepted' | 'held' | 'rejected' | 'voided';
}

/** Statuses of the scores in the histories so far. */
const seen = new Set<string>();

/** A random history of plays, scores, decisions, voids, bans and changes of the mode, with the scores and plays that it made. */
class History {
  readonly scores: PlayedScore[] = [];
  /** Plays that count: one entry per play, as `game wallet`. */
  readonly plays: string[] = [];
  readonly wallets = Array.from({ length: 6 }, () => createWallet().address);
  readonly t: TestApp;
  readonly random: ReturnType<typeof randomGenerator>;
  readonly #modes = new Map<string, Mode>();
  readonly #banned = new Set<string>();
  /** Plays without a score. */
  readonly #open: { playId: string; wallet: string; gameId: string; mode: Mode }[] = [];

  constructor(t: TestApp, seed: number) {
    this.t = t;
    this.random = randomGenerator(seed);
  }

  get #today(): number {
    return dayNumber(this.t.clock.now());
  }

  #wallet = () => this.wallets[this.random.int(0, this.wallets.length - 1)] ?? '';
  #modeOf = (wallet: string): Mode => this.#modes.get(wallet) ?? 'regular';

  async start(): Promise<void> {
    const [wallet, gameId] = [this.#wallet(), this.random.pick(GAMES)];
    const game = await findGame(this.t.app, gameId);
    if (!game) throw new Error(`${gameId} is not registered`);
    const { playId } = await this.t.app.tx((tx) => startPlayIn(tx, { wallet, game }));
    const mode = this.#modeOf(wallet);
    this.#open.push({ playId, wallet, gameId, mode });
    if (mode === 'regular') this.plays.push(`${gameId} ${wallet}`);
  }

  async submit(): Promise<void> {
    const open = this.random.int(1, 5) > 1 ? this.#open.pop() : undefined;
    const { wallet, gameId, playId = null } = open ?? { wallet: this.#wallet(), gameId: 'open' };
    const score = this.random.pick([0, 40, this.random.int(0, 10_000), this.random.int(0, 10_000)]);
    const [answer] = await processScores(this.t.app, [
      {
        ...{ id: newId(), wallet, gameId, score, playId, durationMs: null, battleId: null, signature: null, replay: null, idempotencyKey: null },
        ...{ at: this.t.clock.now().toISOString(), bodyHash: '0'.repeat(64) },
      },
    ]);
    if (this.#banned.has(wallet)) {
      expect(answer?.outcome.status).toBe(403);
      return;
    }
    if (answer?.outcome.status !== 200) throw new Error(JSON.stringify(answer));
    const { scoreId, status, pointsAwarded, noPointsReason, normalizedScore, leftToday } = answer.outcome.receipt;
    expect(noPointsReason === null).toBe(pointsAwarded > 0);
    const mode = this.#modeOf(wallet);
    const recorded = { id: scoreId, wallet, gameId, mode, normalized: normalizedScore, points: pointsAwarded, day: this.#today, status };
    this.scores.push(recorded);
    seen.add(status);
    const earned = (counts: (one: PlayedScore) => boolean) =>
      this.scores
        .filter((one) => one.wallet === wallet && one.status === 'accepted' && one.day === this.#today && counts(one))
        .reduce((sum, { points }) => sum + points, 0);
    const all = DAILY_CAP - earned(() => true);
    expect(leftToday).toEqual({ all, game: Math.min(all, GAME_CAP - earned((one) => one.gameId === gameId)) });
    if (mode === 'regular' && open?.mode !== 'regular') this.plays.push(`${gameId} ${wallet}`);
  }

  async decide(): Promise<void> {
    const held = this.scores.find(({ status, wallet }) => status === 'held' && !this.#banned.has(wallet));
    const game = held && (await findGame(this.t.app, held.gameId));
    if (!held || !game) return;
    const verdict = this.random.pick(['accept', 'accept', 'reject'] as const);
    await decideScore(this.t.app, game, held.id, verdict, DECISION);
    const [row] = await this.t.app.db.query<{ points: number }>({ text: 'select points from scores where id = $1' }, [held.id]);
    Object.assign(held, { status: verdict === 'accept' ? 'accepted' : 'rejected', points: row?.points ?? 0, day: this.#today });
  }

  async takeBack(): Promise<void> {
    const accepted = this.scores.filter(({ status }) => status === 'accepted');
    const one = accepted[this.random.int(0, accepted.length - 1)];
    if (!one) return;
    await voidScore(this.t.app, one.id, DECISION);
    one.status = 'voided';
    seen.add('voided');
  }

  async toggle(): Promise<void> {
    const wallet = this.#wallet();
    const mode = await this.t.app.tx((tx) => choosePlayerMode(tx, wallet, null));
    if (mode) this.#modes.set(wallet, mode);
  }

  async ban(): Promise<void> {
    const wallet = this.#wallet();
    if (this.#banned.delete(wallet)) return await unbanWallet(this.t.app, wallet);
    this.#banned.add(wallet);
    await banWallet(this.t.app, wallet, 'a test');
    await finishBan(this.t.app, wallet);
  }

  /** Lets hours pass. The open plays are then too old for a score. */
  async pass(): Promise<void> {
    await this.t.clock.set(new Date(this.t.clock.now().getTime() + this.random.int(3, 30) * HOUR));
    this.#open.length = 0;
  }

  async step(): Promise<void> {
    const dice = this.random.int(1, 100);
    if (dice <= 30) await this.start();
    else if (dice <= 65) await this.submit();
    else if (dice <= 72) await this.decide();
    else if (dice <= 82) await this.takeBack();
    else if (dice <= 87) await this.toggle();
    else if (dice <= 90) await this.ban();
    else if (dice <= 93) await givePoints(this.t.app, { wallet: this.#wallet(), points: this.random.int(1, 60), kind: 'quest' });
    else if (dice <= 95) await loseBoards(this.t.app, 'all');
    else await this.pass();
  }

  async compare(): Promise<void> {
    await refreshBoards(this.t.app);
    for (const gameId of GAMES) await this.#compareGame(gameId);
    await retryUntilPass(() => this.#comparePeriods());
  }

  async #compareGame(gameId: string): Promise<void> {
    const { app } = this.t;
    const counted = this.scores.filter(
      (one) => one.gameId === gameId && one.mode === 'regular' && one.status === 'accepted' && !this.#banned.has(one.wallet),
    );
    const plays = this.plays.filter((play) => play.startsWith(`${gameId} `));
    const normalized = counted.map((one) => one.normalized);
    const { averageScore, ...stats } = await readGameStats(app.db, gameId);
    expect({ gameId, ...stats }).toEqual({
      gameId,
      totalPlays: plays.length,
      uniquePlayers: new Set(plays).size,
      totalScores: counted.length,
      bestScore: counted.length === 0 ? null : Math.max(...normalized),
    });
    if (counted.length === 0) expect(averageScore).toBeNull();
    else expect(averageScore).toBeCloseTo(normalized.reduce((sum, value) => sum + value, 0) / counted.length, 1);
    expect(stats.totalScores).toBeLessThanOrEqual(stats.totalPlays);
    // While the board is not in Redis, a page of it may be one second old.
    await retryUntilPass(async () => {
      const { entries, total } = await readPage(app, gameBoard(gameId), { span: 'all', limit: 500, offset: 0 });
      expect(stats.bestScore ?? 0).toBe(entries[0]?.score ?? 0);
      expect(total).toBeLessThanOrEqual(stats.uniquePlayers);
    });
  }

  async #comparePeriods(): Promise<void> {
    const read = async (path: string) => await (await fetch(`${this.t.url}/leaderboard/global${path}`)).json();
    for (const at of [0, 24 * HOUR].map((ago) => new Date(this.t.clock.now().getTime() - ago).toISOString().slice(0, 10))) {
      for (const period of PERIODS) {
        const stats = (await read(`/period-stats?period=${period}&at=${at}`)) as Record<string, number | null>;
        const listed = ((await read(`?period=${period}&at=${at}&limit=500`)) as { score: number }[]).map(({ score }) => score);
        const points = listed.reduce((sum, score) => sum + score, 0);
        expect({ period, at, ...stats }).toMatchObject({ period, at, participants: listed.length, points, topScore: listed[0] ?? null });
        if (listed.length === 0) expect(stats.averageScore).toBeNull();
        else {
          expect(stats.averageScore).toBeGreaterThanOrEqual(listed.at(-1) ?? 0);
          expect(stats.averageScore).toBeLessThanOrEqual(listed[0] ?? 0);
        }
      }
    }
    const day = (await read('/period-stats?period=day')) as Record<string, number>;
    const total = (await read('/stats')) as Record<string, number>;
    const all = ((await read('?limit=500')) as { score: number }[]).reduce((sum, { score }) => sum + score, 0);
    expect(total).toMatchObject({ pointsToday: day.points, participantsToday: day.participants });
    // Banned wallets have points too, but are on no board.
    expect(total.totalPointsDistributed).toBeGreaterThanOrEqual(all);
  }
}

test.each(Array.from({ length: Number(process.env.MODEL_SEEDS ?? 2) }, (_, i) => i + 1))(
  'the stats of games and periods match their definitions and the boards (random history %i)',
  async (seed) => {
    const t = await startTestApp({ workers: false, env: { DAILY_POINTS_CAP: String(DAILY_CAP) } });
    try {
      await t.clock.set(START);
      const definition = { ...TEST_GAME, caps: { ...TEST_GAME.caps, dailyPoints: GAME_CAP } };
      await registerGame(t.url, ADMIN_TOKEN, 'open', { ...definition, verification: 'none' });
      await registerGame(t.url, ADMIN_TOKEN, 'verified', { ...definition, caps: { ...definition.caps, scorePerSec: 2_000 } });
      const history = new History(t, seed);
      for (const wallet of history.wallets) await join(t.app, wallet);
      for (let round = 0; round < 4; round++) {
        for (let i = 0; i < 60; i++) await history.step();
        await history.compare();
        for (const board of ['global', ...GAMES.map(gameBoard)]) await rebuildBoard(t.app, board);
        await history.compare();
      }
    } finally {
      await t.close();
    }
  },
  120_000,
);

test('the random histories contain accepted, held and voided scores', () => {
  expect([...seen].sort()).toEqual(['accepted', 'held', 'voided']);
});
