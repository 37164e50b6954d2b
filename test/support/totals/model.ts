import { bucketOf, type Span } from '#lib/periods.ts';
import { BoardModel } from '../areas/board-model.ts';
import { ReferralModel } from './referral-model.ts';
import { CAPS, GAMES, type GameId, HELD_ABOVE, type Mode, type Row, type Score, sum } from './rows.ts';

/** A naive model of all points: it keeps every ledger row, score and play, and computes each total from all of them. */
export class Model {
  readonly rows: Row[] = [];
  readonly scores: Score[] = [];
  /** Plays in regular mode, each as `<game> <wallet>`. */
  readonly plays: string[] = [];
  readonly modes = new Map<string, Mode>();
  readonly banned = new Set<string>();
  /** Conversions: rate in millionths, converted beta points and resulting points; a revoked conversion has 0 of both. */
  readonly conversions = new Map<string, { wallet: string; beta: number; points: number }>();
  readonly referrals: ReferralModel;
  /** Last UTC day number that is closed; final ranks of its periods are stored. */
  closed: number | null = null;
  readonly #finals = new Map<string, ReturnType<BoardModel['list']>>();
  readonly #today: () => number;

  constructor(today: () => number) {
    this.#today = today;
    this.referrals = new ReferralModel(this, today);
  }

  get today(): number {
    return this.#today();
  }

  modeOf = (wallet: string): Mode => this.modes.get(wallet) ?? 'regular';
  score = (id: string): Score | undefined => this.scores.find((one) => one.id === id);
  rowsOf = (wallet: string, mode: Mode): Row[] => this.rows.filter((row) => row.wallet === wallet && row.mode === mode);
  /** The UTC day number of the first score or point. */
  get firstDay(): number {
    return Math.min(...this.rows.map(({ day }) => day), ...this.scores.map(({ day }) => day));
  }

  /** Returns the points that a wallet can still earn on a day. A score counts in the caps of its own day while it is accepted. */
  left(wallet: string, gameId: GameId, day = this.today): { game: number; all: number } {
    const earned = this.scores.filter((one) => one.wallet === wallet && one.status === 'accepted' && one.day === day);
    const all = CAPS.all - sum(earned);
    return { all, game: Math.min(all, CAPS.game - sum(earned.filter((one) => one.gameId === gameId))) };
  }

  /** Returns the points of a score that counts on a day. */
  #award({ wallet, gameId, normalized }: Pick<Score, 'wallet' | 'gameId' | 'normalized'>, day: number): number {
    return Math.min(Math.floor(normalized / 100), this.left(wallet, gameId, day).game);
  }

  #count(score: Score, reason: string, points: number): void {
    const { wallet, mode, gameId, id } = score;
    if (points !== 0)
      this.rows.push({
        ...{ wallet, mode, gameId, reason, points },
        source: 'score',
        kind: 'game',
        cause: id,
        rewards: gameId !== 'open',
        day: this.today,
      });
    this.referrals.enqueue(reason, score);
  }

  submit(submitted: { id: string; wallet: string; gameId: GameId; raw: number; hasPlay: boolean }): Score {
    const { hasPlay, ...score } = submitted;
    const { wallet, gameId, raw } = score;
    const mode = this.modeOf(wallet);
    const normalized = GAMES[gameId].direction === 'higher' ? raw : 10_000 - raw;
    const isHeld = gameId === 'strict' && raw > HELD_ABOVE;
    const points = isHeld ? 0 : this.#award({ wallet, gameId, normalized }, this.today);
    const one: Score = { ...score, mode, normalized, points, status: isHeld ? 'held' : 'accepted', day: this.today, restored: false };
    this.scores.push(one);
    if (mode === 'regular' && !hasPlay) this.plays.push(`${gameId} ${wallet}`);
    if (!isHeld) this.#count(one, 'score', points);
    return one;
  }

  /** Decides about a held score. @returns the status of the response */
  decide(score: Score, verdict: 'accept' | 'reject'): 200 | 409 {
    if (score.status !== 'held' || (verdict === 'accept' && this.banned.has(score.wallet))) return 409;
    if (verdict === 'reject') {
      score.status = 'rejected';
      return 200;
    }
    Object.assign(score, { points: this.#award(score, this.today), status: 'accepted', day: this.today });
    this.#count(score, 'score', score.points);
    return 200;
  }

  /** Rejects the held scores of a banned wallet. */
  rejectHeld(wallet: string): void {
    for (const score of this.scores) {
      if (score.wallet === wallet && score.status === 'held') Object.assign(score, { status: 'rejected', rejectedByBan: true });
    }
  }

  /** Ends the ban of a wallet. The scores that the ban rejected are held again. */
  unban(wallet: string): void {
    this.banned.delete(wallet);
    for (const score of this.scores) {
      if (score.wallet === wallet && score.rejectedByBan) Object.assign(score, { status: 'held', rejectedByBan: false });
    }
  }

  void(score: Score): 200 | 409 {
    if (score.status !== 'accepted') return 409;
    score.status = 'voided';
    this.#count(score, score.restored ? 'second-void' : 'void', -score.points);
    return 200;
  }

  restore(score: Score): 200 | 409 {
    if (score.status !== 'voided' || score.restored || this.banned.has(score.wallet)) return 409;
    const points = Math.min(score.points, this.left(score.wallet, score.gameId, score.day).game);
    Object.assign(score, { status: 'accepted', restored: true, points });
    this.#count(score, 'restore', points);
    return 200;
  }

  /** Converts all beta points of a wallet. @param rate regular points per beta point, in millionths @returns null when nothing is converted */
  convert(wallet: string, rate: number, id: () => string): { beta: number; points: number } | null {
    const beta = sum(this.rowsOf(wallet, 'beta'));
    const points = Math.floor((Math.max(beta, 0) * rate) / 1_000_000);
    if (points === 0) return null;
    const shared = { wallet, source: 'conversion', kind: 'conversion', reason: 'conversion', cause: id(), rewards: false, day: this.today } as const;
    this.rows.push({ ...shared, mode: 'regular', points }, { ...shared, mode: 'beta', points: -beta });
    this.conversions.set(shared.cause, { wallet, beta, points });
    return { beta, points };
  }

  /** Revokes a ledger row. @returns the status of the response */
  revoke(row: Row): 201 | 409 {
    const isRevoked = (one: Row) => this.rows.some((other) => other.reason === 'revoke' && isSameCause(one, other));
    if (row.source === 'score' || row.source === 'ban' || row.reason !== row.source || isRevoked(row)) return 409;
    if (row.source === 'quest' && this.completion(row.wallet, row.mode, row.cause) === 0) return 409;
    if (row.source === 'adjustment' && row.points < 0 && this.banned.has(row.wallet)) return 409;
    const isConversion = row.source === 'conversion';
    const originals = this.rows.filter((one) => one === row || (isConversion && one.cause === row.cause && one.reason === 'conversion'));
    for (const one of originals) this.rows.push({ ...one, reason: 'revoke', points: -one.points, day: this.today });
    const conversion = this.conversions.get(row.cause);
    if (isConversion && conversion) Object.assign(conversion, { beta: 0, points: 0 });
    return 201;
  }

  /** Returns whether a quest completion is void: its latest void is not undone. */
  isVoid(wallet: string, mode: Mode, cause: string): boolean {
    const rows = this.rowsOf(wallet, mode).filter((row) => row.kind === 'quest' && row.cause.startsWith(`${cause}:`));
    return rows.findLast(({ reason }) => reason === 'void' || reason === 'restore')?.reason === 'void';
  }

  /** Returns the points of a quest completion at present: 0 after its revocation and while it is void; undefined without a completion. */
  completion(wallet: string, mode: Mode, cause: string): number | undefined {
    const rows = this.rowsOf(wallet, mode).filter((row) => row.kind === 'quest' && (row.cause === cause || row.cause.startsWith(`${cause}:`)));
    return rows.length === 0 ? undefined : sum(rows);
  }

  /** Returns all values of the boards, which contain regular points and scores only. */
  #boards(): BoardModel {
    const boards = new BoardModel();
    for (const { wallet, kind, points, day } of this.rows.filter(({ mode }) => mode === 'regular')) {
      boards.add({ board: 'global', wallet, day, value: points, allTimeOnly: kind === 'conversion' });
      if (kind === 'quest' || kind === 'referral') boards.add({ board: `${kind}s`, wallet, day, value: points });
    }
    for (const { wallet, gameId, normalized, day, mode, status } of this.scores) {
      if (mode === 'regular' && status === 'accepted') boards.add({ board: `game:${gameId}`, wallet, day, value: normalized });
    }
    return boards;
  }

  /** Returns a function that lists a board without banned wallets. A closed period keeps the lines that it had when it was closed. */
  lister(): (board: string, span: Span, day: number) => ReturnType<BoardModel['list']> {
    const boards = this.#boards();
    return (board, span, day) => {
      const all = (span === 'all' ? undefined : this.#finals.get(`${board} ${span} ${bucketOf(span, day)}`)) ?? boards.list(board, span, day);
      const shown = all.filter(({ wallet }) => !this.banned.has(wallet));
      return shown.map((line) => ({ ...line, rank: 1 + shown.filter(({ score }) => score > line.score).length }));
    };
  }

  /** Stores the lines of a board of a game in a period that is being closed. The values of other boards cannot change any more. */
  keepFinals(board: string, span: Exclude<Span, 'all'>, day: number): void {
    const key = `${board} ${span} ${bucketOf(span, day)}`;
    if (!this.#finals.has(key)) this.#finals.set(key, this.#boards().list(board, span, day));
  }
}

/** Returns whether two rows have the same cause, wallet and mode. */
const isSameCause = (a: Row, b: Row): boolean => a.source === b.source && a.cause === b.cause && a.wallet === b.wallet && a.mode === b.mode;
