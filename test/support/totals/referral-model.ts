import { CAPS, GAMES, type Row, type Score, sum } from './rows.ts';

/** The part of the model of all points that referrals read and write. */
interface Points {
  readonly rows: Row[];
  readonly scores: readonly Score[];
  readonly banned: ReadonlySet<string>;
}

interface Referral {
  readonly referrer: string;
  verified: boolean;
  /** Whether the referrals counted an accepted score of the wallet. */
  active: boolean;
}

/** Reasons of the rows that take a share back or give it back, in their order. */
const REVERSALS = ['referral-void', 'referral-restore', 'referral-second-void'] as const;
const SHARE = 10;

/** A naive model of referrals. It takes the changes of scores in their order, and sees the scores as they are at that time. */
export class ReferralModel {
  /** By referred wallet. */
  readonly bindings = new Map<string, Referral>();
  readonly #model: Points;
  readonly #today: () => number;
  /** Changes of scores of bound wallets that are not consumed yet. */
  readonly #changes: { reason: string; score: Score }[] = [];

  constructor(model: Points, today: () => number) {
    this.#model = model;
    this.#today = today;
  }

  /** Returns the wallets that a wallet referred. */
  of = (referrer: string): (readonly [wallet: string, Referral])[] => [...this.bindings].filter(([, binding]) => binding.referrer === referrer);
  rows = (of: (row: Row) => boolean): Row[] => this.#model.rows.filter((row) => row.kind === 'referral' && of(row));
  /** Returns the points of the daily cap that a referrer used today. */
  used = (referrer: string): number => sum(this.rows((row) => row.wallet === referrer && row.day === this.#today() && row.reason === 'referral'));

  #hasVerifiedScore = (wallet: string): boolean =>
    this.#model.scores.some((one) => one.wallet === wallet && one.status === 'accepted' && GAMES[one.gameId].verification !== 'none');

  /** Binds a wallet. @returns the status of the response */
  bind(wallet: string, referrer: string): 201 | 400 | 409 {
    if (wallet === referrer) return 400;
    if (this.bindings.has(wallet) || this.#model.banned.has(referrer)) return 409;
    for (let one: string | undefined = referrer; one !== undefined; one = this.bindings.get(one)?.referrer) if (one === wallet) return 409;
    this.bindings.set(wallet, { referrer, verified: this.#hasVerifiedScore(wallet), active: false });
    return 201;
  }

  /** Adds a change of a score. A change from before the binding of its wallet has no effect. */
  enqueue(reason: string, score: Score): void {
    if (this.bindings.has(score.wallet)) this.#changes.push({ reason, score });
  }

  /** Consumes all changes of scores, then withholds the shares of banned wallets, and gives back those of the others. */
  consume(): void {
    this.#consumeScores();
    for (const [wallet, { referrer }] of this.bindings) this.#withhold(wallet, referrer);
  }

  #withhold(referred: string, wallet: string): void {
    const today = this.#today();
    const isBanned = this.#model.banned.has(referred);
    const of = (mode: Row['mode'], which: (row: Row) => boolean) =>
      sum(this.rows((row) => row.referred === referred && row.mode === mode && which(row)));
    const withheldOf = (mode: Row['mode'], which: (row: Row) => boolean) => -of(mode, (row) => row.source === 'ban' && which(row));
    const withheld = withheldOf('regular', () => true);
    const change = isBanned ? of('regular', () => true) : -withheld;
    const earnedToday = of('regular', (row) => row.day === today && row.rewards);
    const rewarded = isBanned
      ? Math.max(Math.min(earnedToday, Math.max(change, 0)), Math.min(change, 0))
      : -withheldOf('regular', (row) => row.rewards);
    const beta = isBanned ? of('beta', () => true) : -withheldOf('beta', () => true);
    const changes = [
      { mode: 'regular', rewards: true, points: rewarded },
      { mode: 'regular', rewards: false, points: change - rewarded },
      { mode: 'beta', rewards: false, points: beta },
    ] as const;
    for (const { points, ...one } of changes) {
      if (points === 0) continue;
      const n = this.rows((row) => row.source === 'ban' && row.referred === referred).length + 1;
      const cause = { source: 'ban', kind: 'referral', reason: isBanned ? 'ban' : 'unban', cause: `${referred}:${n}`, day: today } as const;
      this.#model.rows.push({ ...cause, ...one, wallet, points: -points, referred });
    }
  }

  #consumeScores(): void {
    for (const { reason, score } of this.#changes.splice(0)) {
      const binding = this.bindings.get(score.wallet);
      if (!binding) throw new Error('a change of a wallet without a referrer was added');
      if (reason === 'score') this.#add(score, binding);
      else this.#reverse(score, binding);
    }
  }

  #add(score: Score, binding: Referral): void {
    if (score.status !== 'accepted') return;
    binding.active = true;
    if (GAMES[score.gameId].verification !== 'none') binding.verified = true;
    if (!binding.verified || this.#model.banned.has(binding.referrer)) return;
    this.#append(score, binding, 'referral', Math.min(Math.floor((score.points * SHARE) / 100), CAPS.referrals - this.used(binding.referrer)));
  }

  #reverse(score: Score, binding: Referral): void {
    const isVerified = this.#hasVerifiedScore(score.wallet);
    if (!isVerified) binding.verified = false;
    else if (score.status === 'accepted' && GAMES[score.gameId].verification !== 'none') binding.verified = true;
    const rows = this.rows((row) => row.cause === score.id);
    const [given] = rows;
    const reason = REVERSALS[rows.length - 1];
    if (!given || !reason) return;
    const net = sum(rows);
    if (score.status !== 'accepted') this.#append(score, binding, reason, -net);
    else if (net === 0 && !this.#model.banned.has(binding.referrer)) {
      this.#append(score, binding, reason, Math.min(given.points, Math.floor((score.points * SHARE) / 100)));
    }
  }

  #append({ id, mode, wallet: referred, gameId }: Score, { referrer: wallet }: Referral, reason: string, points: number): void {
    if (points === 0) return;
    const cause = { source: 'score', kind: 'referral', reason, cause: id, rewards: gameId !== 'open', day: this.#today() } as const;
    this.#model.rows.push({ ...cause, wallet, mode, points, referred });
  }
}
