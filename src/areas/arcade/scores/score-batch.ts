import {
  appendPoints,
  type Best,
  type BoardStanding,
  type BoardTotal,
  countScores,
  type DailyPoints,
  gameBoard,
  hasTally,
  type OpenDay,
  type Player,
  raiseBests,
  saveEarnings,
  scoresOf,
} from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import { normalize } from '#lib/normalization.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { boardChanges, recordedLine, recordedScores, scoreHeld } from '../events.ts';
import { earnsRewards, type Game } from '../games/definition.ts';
import type { HeartbeatVerdict } from '../plays/evaluate-heartbeats.ts';
import type { ReplayEvidence } from '../replays/evidence.ts';
import { countReplayRefusals, type NewReplay, type RefusedReplay, storeReplays } from '../replays/store.ts';
import { appendScoreActivities, type BattleRefusal } from './activities.ts';
import { awardPoints, leftToday } from './award.ts';
import { evaluateSubmission, type Play } from './evaluate.ts';
import { countOverlap, reviewScore } from './review.ts';
import { insertNewScores, receiptOf, type ScoreRow } from './rows.ts';

/** The result of a submission: an error, or the row of the score. The row is new, or it is an earlier row with the same play or idempotency key. */
export type SubmissionResult =
  | { submission: Submission; row: ScoreRow; leftToday: DailyPoints }
  | { submission: Submission; status: 400 | 403 | 404 | 409; error: string };

/** The data that the evaluation of submissions needs. */
export interface Evidence {
  games: ReadonlyMap<string, Game>;
  /** Result of `readTops`. */
  tops: ReadonlyMap<string, number | null>;
  plays: ReadonlyMap<string, Play>;
  heartbeats: ReadonlyMap<string, HeartbeatVerdict>;
  /** Errors of the submissions that cannot count for the battle that they name, by submission id. */
  inadmissible: ReadonlyMap<string, BattleRefusal>;
  /** Result of `countEqualScores`. */
  equalScores: ReadonlyMap<string, number>;
  /** Returns the result of `countHeldScores` for the wallets of all submissions. Few batches need it. */
  readHeld: () => Promise<ReadonlyMap<string, number>>;
  /** By submission id. */
  replays: ReadonlyMap<string, ReplayEvidence>;
}

const TOO_MANY_HELD = {
  status: 409,
  error:
    'the score must wait until a moderator decides about earlier scores of this wallet: too many of them are held, and this score would be held too',
} as const;

/** Best score of a wallet that has no score on the day of the batch, or whose latest day is not known to be this day. Less than each score. */
const NO_SCORE = -1;

/** The submissions of one transaction. Evaluates each submission against the rows of the earlier ones. */
export class ScoreBatch {
  readonly newRows: ScoreRow[] = [];
  readonly #app: App;
  readonly #open: OpenDay;
  readonly #players: Map<string, Player>;
  readonly #evidence: Evidence;
  readonly #known = new Map<string, ScoreRow>();
  /** Best scores by board, mode and wallet: of all time, and of the day of this batch. */
  readonly #bests = new Map<string, { total: number; today: number }>();
  /** The best scores of this batch that improve the best scores of a period, by board, mode and wallet. */
  readonly #raised = new Map<string, Best>();
  /** Points that each new score left of the daily caps, by score id. */
  readonly #left = new Map<string, DailyPoints>();
  readonly #refusedReplays: RefusedReplay[] = [];
  readonly #uncounted = { games: [] as string[], players: [] as { gameId: string; wallet: string }[] };

  constructor(app: App, open: OpenDay, players: Map<string, Player>, evidence: Evidence, earlier: readonly ScoreRow[], bests: readonly BoardTotal[]) {
    this.#app = app;
    this.#open = open;
    this.#players = players;
    this.#evidence = evidence;
    for (const row of earlier) this.#remember(row);
    for (const { board, mode, wallet, total, day, dayValue } of bests) {
      this.#bests.set(`${board} ${mode} ${wallet}`, { total, today: day === open.day ? dayValue : NO_SCORE });
    }
  }

  #remember(row: ScoreRow): void {
    this.#known.set(row.id, row);
    if (row.playId !== null) this.#known.set(`play ${row.playId}`, row);
    if (row.idempotencyKey !== null) this.#known.set(`key ${row.wallet} ${row.idempotencyKey}`, row);
  }

  #earlier(s: Submission): ScoreRow | undefined {
    return (
      this.#known.get(s.id) ??
      (s.idempotencyKey === null ? undefined : this.#known.get(`key ${s.wallet} ${s.idempotencyKey}`)) ??
      (s.playId === null ? undefined : this.#known.get(`play ${s.playId}`))
    );
  }

  async take(submission: Submission): Promise<SubmissionResult> {
    const earlier = this.#earlier(submission);
    if (earlier) return this.#repeat(submission, earlier);
    const game = this.#evidence.games.get(submission.gameId);
    if (!game) return { submission, status: 404, error: 'gameId must be a game of this arcade' };
    const player = this.#players.get(submission.wallet);
    if (!player || player.banned) return { submission, status: 403, error: 'this wallet may not submit scores' };
    const inadmissible = this.#evidence.inadmissible.get(submission.id);
    if (inadmissible) return { submission, ...inadmissible };
    const play = submission.playId === null ? undefined : this.#evidence.plays.get(submission.playId);
    const heartbeats = submission.playId === null ? undefined : this.#evidence.heartbeats.get(submission.playId);
    const endedAt = new Date(Math.min(Date.parse(submission.at), this.#open.at.getTime()));
    const replay = this.#evidence.replays.get(submission.id);
    const verdict = evaluateSubmission(game, submission, { play, heartbeats, replay }, endedAt);
    if (verdict.verdict === 'refused') {
      if (verdict.isReplay) this.#refusedReplays.push({ wallet: submission.wallet, gameId: game.id, reason: verdict.error });
      return { submission, status: 400, error: verdict.error };
    }
    const reasons = [...verdict.reasons, ...this.#review(game, player, submission, verdict.durationMs, endedAt)];
    if (reasons.length > 0 && (await this.#heldOf(submission)) >= game.review.maxHeldPerWallet) return { submission, ...TOO_MANY_HELD };
    if (verdict.durationMs !== null) countOverlap(player, verdict.durationMs, endedAt);
    const row = this.#score(game, player, submission, reasons.length > 0 ? reasons : null);
    this.newRows.push(row);
    this.#remember(row);
    this.#countPlay(player, row, play);
    if (row.status === 'accepted') countScores(player, row.mode, game.id, 1, row.points);
    this.#left.set(row.id, leftToday(this.#app, player, this.#open, game));
    return { submission, row, leftToday: this.#leftAfter(row) };
  }

  /** Returns the reasons why the rules of the game hold a score, with the earlier scores of this batch taken into account. */
  #review(game: Game, player: Player, s: Submission, durationMs: number | null, endedAt: Date): string[] {
    const { wallet, score, gameId } = s;
    const equal = this.newRows.filter((row) => row.wallet === wallet && row.gameId === gameId && row.score === score).length;
    const overlap = { ...player };
    if (durationMs !== null) countOverlap(overlap, durationMs, endedAt);
    return reviewScore(game, {
      score,
      normalized: normalize(game.normalization, score),
      equalScores: (this.#evidence.equalScores.get(s.id) ?? 0) + equal,
      accepted: scoresOf(player, player.mode, gameId),
      overlapMs: durationMs === null ? 0 : overlap.overlapMs,
      top: this.#evidence.tops.get(gameId) ?? null,
      isPublic: player.mode === 'regular',
    });
  }

  /** Returns the number of held scores of a wallet, with those of this batch. */
  async #heldOf({ wallet }: Submission): Promise<number> {
    const held = this.newRows.filter((row) => row.wallet === wallet && row.status === 'held').length;
    return ((await this.#evidence.readHeld()).get(wallet) ?? 0) + held;
  }

  #repeat(submission: Submission, earlier: ScoreRow): SubmissionResult {
    if (earlier.wallet !== submission.wallet) return { submission, status: 400, error: 'playId must name a play that you started in this game' };
    if (earlier.bodyHash === submission.bodyHash) return { submission, row: earlier, leftToday: this.#leftAfter(earlier) };
    const field = earlier.playId !== null && earlier.playId === submission.playId ? 'playId' : 'Idempotency-Key';
    return { submission, status: 409, error: `${field} was used before with another score` };
  }

  /** Returns the points that the daily caps leave: after a new score, or at present for an earlier score. */
  #leftAfter(row: ScoreRow): DailyPoints {
    const [game, player] = [this.#evidence.games.get(row.gameId), this.#players.get(row.wallet)];
    if (!game || !player) throw new Error('the game or the player of a score is missing');
    return this.#left.get(row.id) ?? leftToday(this.#app, player, this.#open, game);
  }

  #score(game: Game, player: Player, s: Submission, held: string[] | null): ScoreRow {
    const normalized = normalize(game.normalization, s.score);
    const personalBest = held === null && this.#raiseBest(game, player, normalized);
    const award = held === null ? awardPoints(this.#app, player, this.#open, game, normalized) : { points: 0, noPointsReason: null };
    return {
      id: s.id,
      wallet: s.wallet,
      gameId: game.id,
      gameVersion: game.version,
      playId: s.playId,
      idempotencyKey: s.idempotencyKey,
      bodyHash: s.bodyHash,
      score: s.score,
      normalized,
      ...award,
      personalBest,
      status: held === null ? 'accepted' : 'held',
      reasons: held ?? [],
      mode: player.mode,
      durationMs: s.durationMs,
      battleId: s.battleId,
    };
  }

  /** Remembers an accepted score that improves a best score of the player. @returns whether it is the best score of all time */
  #raiseBest(game: Game, { mode, wallet }: Player, value: number): boolean {
    const key = `${gameBoard(game.id)} ${mode} ${wallet}`;
    const best = this.#bests.get(key) ?? { total: 0, today: NO_SCORE };
    if (value > best.today) this.#raised.set(key, { board: gameBoard(game.id), mode, wallet, value });
    this.#bests.set(key, { total: Math.max(best.total, value), today: Math.max(best.today, value) });
    return value > best.total;
  }

  /** Counts a score in regular mode as a play of its own, unless the start of its play was counted. */
  #countPlay(player: Player, { gameId, wallet, mode }: ScoreRow, play: Play | undefined): void {
    if (mode !== 'regular' || play?.mode === 'regular') return;
    this.#uncounted.games.push(gameId);
    if (!hasTally(player, mode, gameId)) this.#uncounted.players.push({ gameId, wallet });
  }

  /** Writes the new rows and commits the transaction. */
  async write(tx: Tx): Promise<BoardStanding[]> {
    await countReplayRefusals(tx, this.#open.day, this.#refusedReplays);
    if (this.newRows.length === 0) return [];
    const accepted = this.newRows.filter((row) => row.status === 'accepted');
    const [, , sums, bests] = await tx.last(() => this.#insert(tx, accepted));
    return [...sums, ...bests];
  }

  /** Starts all statements of the new rows. PostgreSQL runs them in the order of this list. */
  #insert(tx: Tx, accepted: readonly ScoreRow[]) {
    const paid = accepted.filter((row) => row.points > 0);
    this.#report(tx, accepted);
    return Promise.all([
      insertNewScores(tx, this.#open, this.newRows, this.#uncounted),
      saveEarnings(
        tx,
        [...new Set(this.newRows.map((row) => row.wallet))].flatMap((wallet) => this.#players.get(wallet) ?? []),
      ),
      appendPoints(
        tx,
        this.#open,
        paid.map((row) => this.#entry(row)),
        { areNew: true },
      ),
      raiseBests(tx, this.#open.day, [...this.#raised.values()]),
      appendScoreActivities(
        tx,
        'score',
        // The others are their own activities: see `insertNewScores`.
        accepted.filter(({ battleId }) => battleId !== null),
      ),
      storeReplays(tx, this.#replays(), this.#open.at),
    ]);
  }

  #replays(): NewReplay[] {
    return this.newRows.flatMap(({ id, playId }) => {
      const replay = this.#evidence.replays.get(id);
      return playId !== null && replay && 'log' in replay ? [{ scoreId: id, playId, log: replay.log }] : [];
    });
  }

  #entry(row: ScoreRow) {
    const game = this.#evidence.games.get(row.gameId);
    return {
      wallet: row.wallet,
      mode: row.mode,
      kind: 'game' as const,
      reason: 'score' as const,
      source: 'score' as const,
      sourceId: row.id,
      points: row.points,
      rewards: game !== undefined && earnsRewards(game),
    };
  }

  #report(tx: Tx, accepted: readonly ScoreRow[]): void {
    tx.emit(recordedScores, {
      scores: this.newRows.map((row) => recordedLine(row.wallet, row.gameId, receiptOf(row, this.#leftAfter(row)))),
    });
    const bests = accepted.filter((row) => row.mode === 'regular' && row.personalBest);
    if (bests.length > 0) {
      tx.emit(boardChanges, { changes: bests.map(({ wallet, gameId, normalized }) => ({ wallet, gameId, score: normalized })) });
    }
    for (const row of this.newRows) {
      if (row.status === 'held') tx.emit(scoreHeld, { scoreId: row.id, gameId: row.gameId, reasons: row.reasons }, row.wallet);
    }
  }
}
