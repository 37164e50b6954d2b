import { dayNumber, dayStart } from '#lib/periods.ts';
import { handlers } from '#workers/handlers.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '../app.ts';
import { registerGame, TEST_GAME } from '../areas/arcade.ts';
import { randomGenerator } from '../areas/board-model.ts';
import { loseBoards } from '../areas/boards.ts';
import { makeQuest } from '../areas/quests.ts';
import { deleteKeys } from '../redis-keys.ts';
import { adoptQuestRows, close, settle } from './jobs.ts';
import { Model } from './model.ts';
import { QUESTS } from './quests.ts';
import { adminOf, call, type Fetch, Player } from './requests.ts';
import { CAPS, GAME_IDS, GAMES, type GameId, HELD_ABOVE, type Score } from './rows.ts';

const PLAYERS = 5;
const MINUTE = 60_000;
/** Rates of conversions, and the same rates in millionths. */
const RATES = { '1': 1_000_000, '0.5': 500_000, '2.25': 2_250_000, '0.333333': 333_333 } as const;
const REASON = { reason: 'a test' };

interface OpenPlay {
  readonly playId: string;
  readonly player: Player;
  readonly gameId: GameId;
  readonly isCounted: boolean;
}
interface Receipt {
  readonly scoreId: string;
}

/** Steps of a history and how often each of them is chosen. */
const STEPS = {
  ...{ score: 40, play: 5, decide: 8, void: 6, restore: 5, ban: 1, unban: 3, toggle: 3 },
  ...{ bind: 5, task: 4, completeQuest: 3, adjust: 5, revoke: 6, convert: 4, settle: 6, rebuild: 3, lose: 1, pass: 5 },
} as const;
type Step = keyof typeof STEPS;
const CHOICES = Object.entries(STEPS).flatMap(([step, weight]) => Array.from({ length: weight }, () => step as Step));

/** A random history of points: sends requests to an application, and applies the same changes to a model. */
export class History {
  readonly t: TestApp;
  readonly admin: Fetch;
  readonly random: ReturnType<typeof randomGenerator>;
  readonly model: Model;
  readonly players: readonly Player[];
  /** Steps so far, for the message of a failure. */
  readonly log: string[] = [];
  readonly #codes = new Map<string, string>();
  #plays: OpenPlay[] = [];

  constructor(t: TestApp, seed: number) {
    this.t = t;
    this.admin = adminOf(t);
    this.random = randomGenerator(seed);
    this.model = new Model(() => dayNumber(t.clock.now()));
    this.players = Array.from({ length: PLAYERS }, () => new Player(t));
  }

  async begin(): Promise<void> {
    for (const id of GAME_IDS) {
      const { verification, direction } = GAMES[id];
      const caps = { ...TEST_GAME.caps, dailyPoints: CAPS.game, ...(id === 'strict' ? { scorePerSec: HELD_ABOVE } : {}) };
      await registerGame(this.t.url, ADMIN_TOKEN, id, {
        ...{ ...TEST_GAME, verification, caps, normalization: { ...TEST_GAME.normalization, direction } },
      });
    }
    for (const quest of QUESTS) await makeQuest(this.t, quest);
    await call(this.admin, '/admin/config/rewards', {
      method: 'PUT',
      json: { pool: '1000003', cap: '400000', dust: '0', expiryDays: 90, automatic: true },
    });
    for (const player of this.players) {
      const { code } = await call<{ code: string }>(player.fetch, '/api/referral/link');
      this.#codes.set(player.wallet, code);
    }
  }

  isBanned = (player: Player): boolean => this.model.banned.has(player.wallet);
  #player = (): Player => this.random.pick(this.players as [Player, ...Player[]]);
  /** Returns a player that is not banned, if the chosen one is not. */
  #free(): Player | undefined {
    const player = this.#player();
    return this.isBanned(player) ? undefined : player;
  }
  /** Returns one of these items at random. */
  #any = <T>(items: readonly T[]): T | undefined => items[this.random.int(0, items.length - 1)];

  readonly #steps: Record<Step, () => Promise<unknown>> = {
    play: async () => void (await this.#play()),
    score: () => this.#score(),
    decide: async () => {
      const score = this.#score1('held');
      const decision = this.random.pick(['accept', 'accept', 'reject']);
      if (score) await call(this.admin, `/admin/scores/${score.id}/decision`, { json: { decision } }, this.model.decide(score, decision));
    },
    void: async () => {
      const score = this.#score1('accepted');
      if (score) await call(this.admin, `/admin/scores/${score.id}/void`, { json: REASON }, this.model.void(score));
    },
    restore: async () => {
      const score = this.#score1('voided');
      if (score) await call(this.admin, `/admin/scores/${score.id}/restore`, { json: REASON }, this.model.restore(score));
    },
    ban: () => this.#ban(),
    unban: async () => {
      const wallet = this.#any([...this.model.banned]);
      if (wallet === undefined) return;
      await call(this.admin, `/admin/wallets/${wallet}/unban`, { method: 'POST' });
      this.model.unban(wallet);
    },
    toggle: async () => {
      const player = this.#free();
      if (!player) return;
      const { enabled } = await call<{ enabled: boolean }>(player.fetch, '/api/beta/preference', { json: {} });
      this.model.modes.set(player.wallet, enabled ? 'beta' : 'regular');
    },
    bind: async () => {
      const [player, referrer] = [this.#free(), this.#player()];
      if (!player) return;
      const status = this.model.referrals.bind(player.wallet, referrer.wallet);
      await call(player.fetch, '/api/referral/bind', { json: { code: this.#codes.get(referrer.wallet) } }, status);
    },
    task: async () => {
      const done = await this.#free()?.fetch('/api/tasks/daily/complete', { json: { taskId: 'warm-up' } });
      if (done?.ok) await adoptQuestRows(this);
    },
    completeQuest: async () => {
      const done = await this.admin('/admin/quests/by-hand/complete', { json: { wallet: this.#player().wallet } });
      if (done.ok) await adoptQuestRows(this);
    },
    adjust: () => this.#adjust(),
    revoke: async () => {
      const row = this.#any(this.model.rows.filter(({ source }) => source !== 'score' || this.random.int(1, 10) === 1));
      if (!row) return;
      const id = [row.source, row.reason, row.mode, row.wallet, row.cause].join(':');
      await call(this.admin, `/admin/ledger/${encodeURIComponent(id)}/revoke`, { json: REASON }, this.model.revoke(row));
    },
    convert: () => this.#convert(),
    settle: () => settle(this),
    rebuild: async () => {
      for (const board of ['global', 'quests', 'referrals', ...GAME_IDS.map((id) => `game:${id}`)])
        await handlers.rebuildBoard(this.t.app, { board });
    },
    lose: () => loseBoards(this.t.app, this.random.pick(['all', 'ready'])),
    pass: () => this.pass(this.random.int(5, 60)),
  };

  #score1(status: Score['status']): Score | undefined {
    // One in ten scores has any status, so that refusals are tested as well.
    return this.#any(this.random.int(1, 10) === 1 ? this.model.scores : this.model.scores.filter((one) => one.status === status));
  }

  /** Runs a step: the named one, or a random one. */
  async step(step: Step = this.random.pick(CHOICES as [Step, ...Step[]])): Promise<void> {
    this.log.push(step);
    await this.#steps[step]();
  }

  async #play(): Promise<OpenPlay | undefined> {
    const player = this.#free();
    if (!player) return undefined;
    const gameId = this.random.pick(GAME_IDS);
    const { playId } = await call<{ playId: string }>(player.fetch, `/game/${gameId}/play`, { method: 'POST' });
    const isCounted = this.model.modeOf(player.wallet) === 'regular';
    if (isCounted) this.model.plays.push(`${gameId} ${player.wallet}`);
    const play = { playId, player, gameId, isCounted };
    this.#plays.push(play);
    return play;
  }

  async #score(): Promise<void> {
    const isNew = this.random.int(1, 4) > 1;
    const play = this.random.int(1, 6) === 1 ? undefined : ((isNew ? await this.#play() : undefined) ?? this.#any(this.#plays));
    const player = play?.player ?? this.#free();
    if (!player || this.isBanned(player)) return;
    if (play) this.#plays = this.#plays.filter((one) => one !== play);
    const gameId = play?.gameId ?? 'open';
    const raw = this.random.pick([0, 40, this.random.int(0, 2_000), this.random.int(0, 10_000), this.random.int(0, 100) * 100]);
    const sent = { gameId, score: raw, ...(play ? { playId: play.playId } : {}) };
    const receipt = await call<Receipt & Record<string, unknown>>(player.fetch, '/arcade/score', { json: sent });
    const { status, points, normalized } = this.model.submit({
      ...{ id: receipt.scoreId, wallet: player.wallet, gameId, raw, hasPlay: play?.isCounted ?? false },
    });
    const { pointsAwarded, normalizedScore, leftToday } = receipt;
    const found = { status: receipt.status, pointsAwarded, normalizedScore, leftToday };
    const left = this.model.left(player.wallet, gameId);
    this.#expect(found, { status, pointsAwarded: points, normalizedScore: normalized, leftToday: { game: left.game, all: left.all } });
    if (play && this.random.int(1, 8) === 1) await call(player.fetch, '/arcade/score', { json: sent }, 200);
  }

  #expect(found: Record<string, unknown>, expected: Record<string, unknown>): void {
    const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
    if (a !== b) throw new Error(`the receipt of a score is ${a}, but must be ${b}`);
  }

  async #ban(): Promise<void> {
    const { wallet } = this.#player();
    await call(this.admin, `/admin/wallets/${wallet}/ban`, { json: REASON });
    this.model.banned.add(wallet);
    if (this.random.int(0, 1) === 1) await this.applyBans();
  }

  /** Runs the jobs that reject the held scores of banned wallets. */
  async applyBans(): Promise<void> {
    for (const wallet of this.model.banned) {
      await handlers.applyBan(this.t.app, { wallet });
      this.model.rejectHeld(wallet);
    }
  }

  async #adjust(): Promise<void> {
    const { wallet } = this.#player();
    const points = this.random.pick([1, 1, -1]) * this.random.int(1, 120);
    const mode = this.random.pick(['regular', 'regular', 'beta']);
    const rewards = mode === 'regular' && this.random.int(0, 1) === 1;
    const status = points > 0 && this.model.banned.has(wallet) ? 409 : 201;
    const json = { points, mode, rewards, ...REASON };
    const { cause } = await call<{ cause: string }>(this.admin, `/admin/wallets/${wallet}/points`, { json }, status);
    if (status === 409) return;
    const row = { source: 'adjustment', kind: 'adjustment', reason: 'adjustment', cause, day: this.model.today } as const;
    this.model.rows.push({ ...row, wallet, mode, points, rewards });
  }

  async #convert(): Promise<void> {
    const { wallet } = this.#player();
    const rate = this.random.pick(['1', '0.5', '2.25', '0.333333']);
    const isBanned = this.model.banned.has(wallet);
    const done = await call<Record<string, unknown>>(this.admin, '/api/beta/convert', { json: { wallet, rate } }, isBanned ? 409 : 200);
    if (isBanned) return;
    const moved = this.model.convert(wallet, RATES[rate], () => String(done.id));
    const { id, betaPoints, points } = done;
    this.#expect(
      { isConverted: id !== null, betaPoints, points },
      { isConverted: moved !== null, betaPoints: moved?.beta ?? 0, points: moved?.points ?? 0 },
    );
  }

  /** Lets minutes pass. Avoids the last minutes of a day, so that no midnight comes between a request and the model. */
  async pass(minutes: number): Promise<void> {
    const at = this.t.clock.now().getTime() + minutes * MINUTE;
    const isLate = dayNumber(new Date(at + 5 * MINUTE)) !== dayNumber(new Date(at));
    await this.goTo(isLate ? dayStart(dayNumber(new Date(at)) + 1).getTime() + 5_000 : at);
  }

  /** Sets the clock. */
  async goTo(at: number): Promise<void> {
    await this.t.clock.set(new Date(Math.max(at, this.t.clock.now().getTime())));
    // A play of the tests may last an hour, and a score above the limit per second of its whole play is held.
    this.#plays = [];
  }

  /** Deletes all data of the application from Redis. */
  async resetRedis(): Promise<void> {
    const { redis, config } = this.t.app;
    await deleteKeys(redis, `*${config.redis.prefix}*`);
    await handlers.detectLostBoards(this.t.app, {});
  }

  readonly close = (): Promise<void> => close(this);
}

/** Starts an application for a history. A worker records scores; the history runs all other jobs itself, so that its seed determines their order. */
export const startTotalsApp = (): Promise<TestApp> =>
  startTestApp({ env: { QUEUES: 'scores', DAILY_POINTS_CAP: String(CAPS.all), REFERRAL_DAILY_CAP: String(CAPS.referrals) } });
