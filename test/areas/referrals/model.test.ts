import { expect, test } from '@jest/globals';
import { type ActivityEvent, readPage, rebuildBoard, refreshBoards } from '#areas/points';
import { bindWallet } from '#areas/referrals/bind.ts';
import { findOrCreateLink } from '#areas/referrals/links.ts';
import { readStats } from '#areas/referrals/stats.ts';
import { HttpError } from '#lib/errors.ts';
import { dayNumber } from '#lib/periods.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { readRunId, sql } from '#test/support/areas/boards.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';
import { consume, FREE, join, registerGames, score, VERIFIED, voidTestScore } from '#test/support/areas/referrals.ts';

const CAP = 70;
const HOUR = 3_600_000;
const START = new Date('2031-12-30T03:00:00Z');

interface Played {
  wallet: string;
  game: string;
  points: number;
  mode: 'regular' | 'beta';
  voided: boolean;
}
interface Row {
  referrer: string;
  wallet: string;
  scoreId: string;
  mode: string;
  points: number;
  day: number;
}

/** A reference model of the shares. It takes one activity at a time. */
class Model {
  readonly scores = new Map<string, Played>();
  /** Referred wallet → referrer. */
  readonly referrers = new Map<string, string>();
  /** Ids of scores from before the binding of their wallet. */
  readonly early = new Set<string>();
  /** Ids of scores that were voided before the binding of their wallet. */
  readonly voidedEarly = new Set<string>();
  readonly verified = new Set<string>();
  readonly banned = new Set<string>();
  readonly rows: Row[] = [];

  take({ kind, sourceId }: ActivityEvent, day: number): void {
    const played = this.scores.get(sourceId);
    const referrer = played && this.referrers.get(played.wallet);
    if (!played || referrer === undefined) return;
    const { wallet, mode } = played;
    if (kind === 'void' && !this.voidedEarly.has(sourceId)) {
      const given = this.rows.find((row) => row.scoreId === sourceId);
      if (given) this.rows.push({ ...given, points: -given.points, day });
      const isVerified = [...this.scores.values()].some((one) => one.wallet === wallet && one.game === VERIFIED && !one.voided);
      if (!isVerified) this.verified.delete(wallet);
    }
    if (kind !== 'score' || played.voided || this.early.has(sourceId)) return;
    if (played.game === VERIFIED) this.verified.add(wallet);
    if (!this.verified.has(wallet) || this.banned.has(referrer)) return;
    const used = this.rows.filter((row) => row.referrer === referrer && row.day === day && row.points > 0).reduce((sum, row) => sum + row.points, 0);
    const points = Math.min(Math.floor(played.points / 10), CAP - used);
    if (points > 0) this.rows.push({ referrer, wallet, scoreId: sourceId, mode, points, day });
  }

  bind(wallet: string, referrer: string): boolean {
    for (let ancestor: string | undefined = referrer; ancestor !== undefined; ancestor = this.referrers.get(ancestor)) {
      if (ancestor === wallet) return false;
    }
    if (this.referrers.has(wallet) || this.banned.has(referrer) || this.banned.has(wallet)) return false;
    this.referrers.set(wallet, referrer);
    for (const [id, played] of this.scores) {
      if (played.wallet !== wallet) continue;
      this.early.add(id);
      if (played.voided) this.voidedEarly.add(id);
      else if (played.game === VERIFIED) this.verified.add(wallet);
    }
    return true;
  }

  sum(of: (row: Row) => boolean): number {
    return this.rows.filter(of).reduce((total, { points }) => total + points, 0);
  }
}

/** A random history, applied to the application and to the model. */
class History {
  readonly model = new Model();
  readonly wallets = Array.from({ length: 7 }, () => randomWallet());
  readonly t: TestApp;
  readonly random: ReturnType<typeof randomGenerator>;
  readonly #modes = new Map<string, 'regular' | 'beta'>();

  constructor(t: TestApp, seed: number) {
    this.t = t;
    this.random = randomGenerator(seed);
  }

  #wallet = () => this.wallets[this.random.int(0, this.wallets.length - 1)] ?? '';

  async play(): Promise<void> {
    const wallet = this.#wallet();
    if (this.model.banned.has(wallet)) return;
    const game = this.random.pick([FREE, FREE, VERIFIED]);
    const { scoreId, points } = await score(this.t, wallet, game, this.random.int(0, 40) * this.random.pick([3, 40, 90]));
    this.model.scores.set(scoreId, { wallet, game, points, mode: this.#modes.get(wallet) ?? 'regular', voided: false });
  }

  async takeBack(): Promise<void> {
    const accepted = [...this.model.scores].filter(([, played]) => !played.voided);
    const [id, played] = accepted[this.random.int(0, accepted.length - 1)] ?? [];
    if (id === undefined || !played) return;
    await voidTestScore(this.t.app, id);
    played.voided = true;
  }

  async bind(): Promise<void> {
    const [wallet, referrer] = [this.#wallet(), this.#wallet()];
    const { code } = await findOrCreateLink(this.t.app, referrer);
    const bound = await this.t.app
      .tx((tx) => bindWallet(tx, wallet, code))
      .then(() => true)
      .catch((error: unknown) => {
        if (error instanceof HttpError) return false;
        throw error;
      });
    expect(bound).toBe(this.model.bind(wallet, referrer));
  }

  async toggle(): Promise<void> {
    const wallet = this.#wallet();
    const mode = this.#modes.get(wallet) === 'beta' ? 'regular' : 'beta';
    this.#modes.set(wallet, mode);
    await sql(this.t.app, 'update players set mode = $2 where wallet = $1', [wallet, mode]);
  }

  async ban(): Promise<void> {
    const wallet = this.#wallet();
    // The totals of all points are tested with bans of referred wallets.
    if (this.model.referrers.has(wallet)) return;
    const banned = !this.model.banned.delete(wallet);
    if (banned) this.model.banned.add(wallet);
    await sql(this.t.app, 'update players set banned_at = case when $2 then app_now() end where wallet = $1', [wallet, banned]);
  }

  async consume(most = this.random.int(1, 12)): Promise<void> {
    const options = { most, ...(this.random.int(1, 8) === 1 ? { kinds: ['void'] as const } : {}) };
    if (this.random.int(1, 6) === 1) await consume(this.t.app, { ...options, killed: true });
    const { activities, day } = await consume(this.t.app, options);
    for (const activity of activities) this.model.take(activity, day);
  }

  async step(): Promise<void> {
    const dice = this.random.int(1, 100);
    if (dice <= 50) await this.play();
    else if (dice <= 60) await this.takeBack();
    else if (dice <= 70) await this.bind();
    else if (dice <= 92) await this.consume();
    else if (dice <= 94) await this.toggle();
    else if (dice <= 96) await this.ban();
    else await this.t.clock.set(new Date(this.t.clock.now().getTime() + this.random.int(3, 20) * HOUR));
  }

  async compare(): Promise<void> {
    const { app } = this.t;
    const { model } = this;
    const byScore = (a: Row, b: Row) => (`${a.scoreId} ${a.points}` < `${b.scoreId} ${b.points}` ? -1 : 1);
    const ledger = await sql<Row>(
      app,
      `select l.wallet as referrer, l.factors ->> 'referred' as wallet, l.source_id as "scoreId", l.mode, l.points::int as points, l.day
       from ledger l where l.kind = 'referral'`,
    );
    expect(ledger.sort(byScore)).toEqual([...model.rows].sort(byScore));
    const days = await sql<{ referrer: string; day: number; used: number; points: number }>(
      app,
      'select referrer, day, used, points::int as points from referral_days',
    );
    for (const { referrer, day, used, points } of days) {
      expect(used).toBeLessThanOrEqual(CAP);
      expect({ used, points }).toEqual({
        used: model.sum((row) => row.referrer === referrer && row.day === day && row.points > 0),
        points: model.sum((row) => row.referrer === referrer && row.day === day && row.mode === 'regular'),
      });
    }
    const referred = await sql<{ wallet: string; regular: number; beta: number; verified: boolean }>(
      app,
      'select wallet, points::int as regular, beta_points::int as beta, verified_at is not null as verified from referrals',
    );
    expect(referred).toHaveLength(model.referrers.size);
    for (const { wallet, ...found } of referred) {
      const by = (mode: string) => model.sum((row) => row.wallet === wallet && row.mode === mode);
      expect(found).toEqual({ regular: by('regular'), beta: by('beta'), verified: model.verified.has(wallet) });
    }
    await refreshBoards(app);
    const today = dayNumber(this.t.clock.now());
    for (const span of ['all', 'day'] as const) {
      const counts = (row: Row) => row.mode === 'regular' && (span === 'all' || row.day === today);
      const expected = this.wallets
        .map((wallet) => ({ wallet, score: model.sum((row) => row.referrer === wallet && counts(row)) }))
        .filter((line) => line.score > 0)
        .filter(({ wallet }) => !model.banned.has(wallet))
        .sort((a, b) => b.score - a.score || (a.wallet < b.wallet ? 1 : -1));
      const { entries } = await readPage(app, 'referrals', { span, limit: 500, offset: 0 });
      expect(entries.map(({ wallet, score: points }) => ({ wallet, score: points }))).toEqual(expected);
    }
    for (const wallet of this.wallets) {
      const stats = await readStats(app, wallet);
      expect(stats.earnings.points).toBe(model.sum((row) => row.referrer === wallet && row.mode === 'regular'));
      expect(stats.today.used).toBe(model.sum((row) => row.referrer === wallet && row.day === today && row.points > 0));
    }
  }
}

test.each(Array.from({ length: Number(process.env.MODEL_SEEDS ?? 2) }, (_, i) => i + 1))(
  'shares equal those of a reference model, for any batching of activities (random history %i)',
  async (seed) => {
    const t = await startTestApp({ workers: false, env: { REFERRAL_DAILY_CAP: String(CAP) } });
    try {
      await t.clock.set(START);
      await registerGames(t);
      const history = new History(t, seed);
      for (const wallet of history.wallets) await join(t.app, wallet);
      for (let i = 0; i < 4; i++) await history.bind();
      await rebuildBoard(t.app, 'referrals');
      expect(await readRunId(t.app, 'referrals')).not.toBeNull();
      for (let round = 0; round < 4; round++) {
        for (let i = 0; i < 60; i++) await history.step();
        await history.compare();
      }
      for (let i = 0; i < 100; i++) await history.consume();
      await history.compare();
      expect(history.model.rows.length).toBeGreaterThan(10);
      expect(history.model.rows.some(({ points }) => points < 0)).toBe(true);
    } finally {
      await t.close();
    }
  },
  120_000,
);
