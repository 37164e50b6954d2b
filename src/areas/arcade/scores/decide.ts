import {
  appendPoints,
  countScores,
  gameBoard,
  isBanned,
  type LedgerEntry,
  lockPlayers,
  type Mode,
  type OpenDay,
  openDay,
  raiseBests,
  returnPoints,
  saveEarnings,
  scheduleRefresh,
} from '#areas/points';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type BoardChange, boardChanges, scoreDecided } from '../events.ts';
import { earnsRewards, type Game } from '../games/definition.ts';
import { appendScoreActivities, type ScoreChange } from './activities.ts';
import { awardPoints } from './award.ts';
import { recomputeBests } from './bests.ts';
import { lockScores, type ScoreToDecide } from './moderation.ts';
import type { ScoreStatus } from './schemas.ts';

const decide = statement(
  'decide_scores',
  `with score as (
     update scores s set status = d.status, points = d.points, no_points_reason = d.no_points_reason, personal_best = d.personal_best, day = d.day, decided_at = $1, decided_by = $2,
            reasons = case when $3::text is null then s.reasons else s.reasons || $3::text end
     from unnest($4::uuid[], $5::text[], $6::int[], $7::bool[], $8::int[], $9::text[]) as d(id, status, points, personal_best, day, no_points_reason)
     where s.id = d.id returning s.wallet, s.game_id, s.normalized, s.status, s.mode)
   insert into game_counters as c (game_id, shard, scores, score_sum)
   select game_id, 0, sum(case status when 'accepted' then 1 when 'voided' then -1 end), sum(case status when 'accepted' then normalized when 'voided' then -normalized end)
   from score where status in ('accepted', 'voided') and mode = 'regular' and not ${isBanned('score.wallet')} group by game_id order by game_id
   on conflict (game_id, shard) do update set scores = c.scores + excluded.scores, score_sum = c.score_sum + excluded.score_sum`,
);

/** Author and reason of a decision. The author is the name of an admin token, or `ban`. */
export interface Decision {
  by: string;
  reason: string | undefined;
}

/** Writes the new state of decided scores, and updates the counters of their games. Scores of a banned wallet do not change the counters. */
export async function write(tx: Tx, open: OpenDay, decision: Decision, scores: readonly (ScoreToDecide & { status: ScoreStatus })[]): Promise<void> {
  await tx.query(decide, [
    open.at.toISOString(),
    decision.by,
    decision.reason ?? null,
    scores.map((s) => s.id),
    scores.map((s) => s.status),
    scores.map((s) => s.points),
    scores.map((s) => s.personalBest),
    scores.map((s) => s.day),
    scores.map((s) => s.noPointsReason),
  ]);
}

/** Tells the wallet of a score about a decision. */
export function report(
  tx: Tx,
  score: ScoreToDecide,
  decision: 'accepted' | 'rejected' | 'voided' | 'restored',
  points: number,
  reason: string | undefined,
): void {
  tx.emit(scoreDecided, { scoreId: score.id, gameId: score.gameId, decision, pointsAwarded: points, ...(reason ? { reason } : {}) }, score.wallet);
}

/** Tells all subscribers that a wallet's line on the public all-time board of a game changed. Ignores lines that did not change. */
export function reportBoards(tx: Tx, changes: readonly (BoardChange & { mode: Mode; before: number })[]): void {
  const shown = changes.filter(({ mode, before, score }) => mode === 'regular' && score !== (before || null));
  if (shown.length > 0) tx.emit(boardChanges, { changes: shown.map(({ wallet, gameId, score }) => ({ wallet, gameId, score })) });
}

export const entryOf = (score: ScoreToDecide, reason: ScoreChange, points: number, rewards: boolean): LedgerEntry => ({
  wallet: score.wallet,
  mode: score.mode,
  kind: 'game',
  reason,
  source: 'score',
  sourceId: score.id,
  points,
  rewards,
});

/**
 * Accepts or rejects a held score. An accepted score counts on the day of the decision, within the daily caps.
 * @throws 404 when the score does not exist
 * @throws 409 when the score is not held, or when the verdict is `accept` and the wallet is banned
 */
export async function decideScore(app: App, game: Game, scoreId: string, verdict: 'accept' | 'reject', decision: Decision): Promise<void> {
  await app.tx(async (tx) => {
    const open = await openDay(tx);
    const score = await lockOne(tx, scoreId);
    if (score.status !== 'held') throw fail(409, `the score is ${score.status}, not held`);
    if (verdict === 'reject') {
      await write(tx, open, decision, [{ ...score, status: 'rejected' }]);
      report(tx, score, 'rejected', 0, decision.reason);
      return;
    }
    const player = score.player;
    if (player.banned) throw fail(409, 'decision must be reject: the wallet is banned');
    const award = awardPoints(app, player, open, game, score.normalized);
    const { points } = award;
    countScores(player, score.mode, game.id, 1, points);
    const board = gameBoard(game.id);
    const changed = await raiseBests(tx, open.day, [{ board, mode: score.mode, wallet: score.wallet, value: score.normalized }]);
    const personalBest = score.normalized > score.best;
    await write(tx, open, decision, [{ ...score, status: 'accepted', ...award, personalBest, day: open.day }]);
    await saveEarnings(tx, [player]);
    if (points > 0) changed.push(...(await appendPoints(tx, open, [entryOf(score, 'score', points, earnsRewards(game))])));
    await appendScoreActivities(tx, 'score', [score]);
    report(tx, score, 'accepted', points, decision.reason);
    const { wallet, mode, best } = score;
    reportBoards(tx, [{ wallet, gameId: game.id, score: Math.max(best, score.normalized) || null, mode, before: best }]);
    await scheduleRefresh(tx, changed);
  });
}

const voidOf = (score: ScoreToDecide) => (score.restored ? 'second-void' : 'void');

/**
 * Voids accepted scores of one wallet, and recomputes the wallet's best scores. Appends negative ledger rows of the current day, with the `rewards`
 * flag of the original rows. Gives back the points of the day's caps if the score is of the current day. Ignores scores of other wallets, and scores that are not accepted.
 * @returns the number of voided scores
 */
export async function voidScores(tx: Tx, wallet: string, scoreIds: readonly string[], decision: Decision): Promise<number> {
  const open = await openDay(tx);
  const player = (await lockPlayers(tx, [wallet])).get(wallet);
  const scores = (await lockScores(tx, scoreIds)).filter((score) => score.status === 'accepted' && score.wallet === wallet);
  if (scores.length === 0) return 0;
  await write(
    tx,
    open,
    decision,
    scores.map((score) => ({ ...score, status: 'voided' })),
  );
  if (player) {
    for (const score of scores) {
      countScores(player, score.mode, score.gameId, -1, -score.points);
      returnPoints(player, score.day, score.gameId, score.points);
    }
    await saveEarnings(tx, [player]);
  }
  const paid = scores.filter((score) => score.points > 0);
  const changed = await appendPoints(
    tx,
    open,
    paid.map((score) => entryOf(score, voidOf(score), -score.points, score.rewards)),
  );
  for (const [gameId, ofGame] of Map.groupBy(scores, (score) => score.gameId)) {
    for (const [mode, [first]] of Map.groupBy(ofGame, (score) => score.mode)) {
      const bests = await recomputeBests(tx, gameId, mode, wallet);
      changed.push(...bests);
      // A banned wallet is on no board.
      if (player?.banned) continue;
      reportBoards(
        tx,
        bests.map((row) => ({ wallet, gameId, score: row.total || null, mode, before: first?.best ?? 0 })),
      );
    }
  }
  for (const [kind, ofKind] of Map.groupBy(scores, voidOf)) await appendScoreActivities(tx, kind, ofKind);
  for (const score of scores) report(tx, score, 'voided', -score.points, decision.reason);
  await scheduleRefresh(tx, changed);
  return scores.length;
}

/**
 * Voids one accepted score.
 * @throws 404 when the score does not exist
 * @throws 409 when the score is not accepted
 */
export async function voidScore(app: App, scoreId: string, decision: Decision): Promise<void> {
  await app.tx(async (tx) => {
    const score = (await lockScores(tx, [scoreId], 'unlocked'))[0];
    if (!score) throw fail(404, 'no such score');
    if ((await voidScores(tx, score.wallet, [scoreId], decision)) === 0) throw fail(409, `the score is ${score.status}, not accepted`);
  });
}

/**
 * Locks a score and its wallet.
 * @throws 404 when the score does not exist
 */
export async function lockOne(tx: Tx, scoreId: string) {
  const found = (await lockScores(tx, [scoreId], 'unlocked'))[0];
  if (!found) throw fail(404, 'no such score');
  const player = (await lockPlayers(tx, [found.wallet])).get(found.wallet);
  const score = (await lockScores(tx, [scoreId]))[0];
  if (!player || !score) throw fail(404, 'no such score');
  return { ...score, player };
}
