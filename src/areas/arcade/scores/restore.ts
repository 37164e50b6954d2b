import { appendPoints, countScores, openDay, retakePoints, saveEarnings, scheduleRefresh } from '#areas/points';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Game } from '../games/definition.ts';
import { appendScoreActivities } from './activities.ts';
import type { Award } from './award.ts';
import { recomputeBests } from './bests.ts';
import { type Decision, entryOf, lockOne, report, reportBoards, write } from './decide.ts';
import type { ScoreToDecide } from './moderation.ts';

const insertRestoration = statement(
  'insert_score_restoration',
  `insert into score_restorations (score_id, points, voided_at, voided_by, restored_at, restored_by, reason)
   select id, points, decided_at, decided_by, $2::timestamptz, $3, $4 from scores where id = $1`,
);

const earnedOnDay = statement<{ game: number; all: number }>(
  'points_earned_on_day',
  `select coalesce(sum(points) filter (where game_id = $2), 0)::int as game, coalesce(sum(points), 0)::int as all
   from scores where wallet = $1 and day = $3 and status = 'accepted'`,
);

/**
 * Undoes the void of a score. The score counts again on its own day, on the boards and in the daily caps: its points are cut to what the wallet's
 * other scores left of the caps of that day. The points are added to the ledger on the current day.
 * @throws 404 when the score does not exist
 * @throws 409 when the score is not voided, when it was restored before, or when the wallet is banned
 */
export async function restoreScore(app: App, game: Game, scoreId: string, decision: Decision & { reason: string }): Promise<void> {
  await app.tx(async (tx) => {
    const open = await openDay(tx);
    const { player, ...score } = await lockOne(tx, scoreId);
    if (score.status !== 'voided') throw fail(409, `the score is ${score.status}, not voided`);
    if (score.restored) throw fail(409, 'the score was restored before and voided again, so it stays voided');
    if (player.banned) throw fail(409, 'the wallet is banned: end the ban first');
    await tx.query(insertRestoration, [score.id, open.at.toISOString(), decision.by, decision.reason]);
    const award = await awardAgain(app, tx, game, score);
    const { points } = award;
    await write(tx, open, decision, [{ ...score, status: 'accepted', ...award }]);
    countScores(player, score.mode, game.id, 1, points);
    retakePoints(player, score.day, game.id, points);
    await saveEarnings(tx, [player]);
    const changed = await recomputeBests(tx, game.id, score.mode, score.wallet);
    reportBoards(
      tx,
      changed.map((row) => ({ wallet: score.wallet, gameId: game.id, score: row.total || null, mode: score.mode, before: score.best })),
    );
    if (points > 0) changed.push(...(await appendPoints(tx, open, [entryOf(score, 'restore', points, score.rewards)])));
    await appendScoreActivities(tx, 'restore', [score]);
    report(tx, score, 'restored', points, decision.reason);
    await scheduleRefresh(tx, changed);
  });
}

/** Returns the points of a restored score: its points before the void, within the points that the caps of its day leave. */
async function awardAgain(app: App, tx: Tx, game: Game, score: ScoreToDecide): Promise<Award> {
  if (score.points === 0) return { points: 0, noPointsReason: score.noPointsReason };
  const [earned] = await tx.query(earnedOnDay, [score.wallet, game.id, score.day]);
  if (!earned) throw new Error('the statement points_earned_on_day returned no row');
  const all = Math.max(0, app.config.dailyPointsCap - earned.all);
  const points = Math.min(score.points, Math.max(0, game.caps.dailyPoints - earned.game), all);
  return { points, noPointsReason: points > 0 ? null : all === 0 ? 'daily-cap' : 'game-cap' };
}
