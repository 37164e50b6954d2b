import { type BoardStanding, gameBoard, lockPlayers, openDay, readStandings, readTotals } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import { normalize } from '#lib/normalization.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { evaluateHeartbeats } from '../plays/evaluate-heartbeats.ts';
import { countEqualScores, countHeldScores, type NormalizedSubmission } from './review.ts';
import { readEarlier, readPlays } from './rows.ts';
import { type Evidence, ScoreBatch, type SubmissionResult } from './score-batch.ts';

export interface RecordedBatch {
  day: number;
  recorded: SubmissionResult[];
  /** Standings to copy to the boards in Redis: the changed ones, and those of repeated submissions. */
  standings: BoardStanding[];
}

/**
 * Evaluates a batch of submissions, and records the accepted and the held scores in one transaction. Locks the wallets' rows first, so that the
 * submissions of one wallet are serialized across all workers. Idempotent: a repeated batch finds the rows that it recorded before and changes
 * nothing.
 */
export function recordBatch(
  app: App,
  submissions: readonly Submission[],
  known: Pick<Evidence, 'games' | 'tops' | 'inadmissible' | 'replays'>,
): Promise<RecordedBatch> {
  const { games } = known;
  const withPlay = submissions.flatMap(({ playId, gameId }) =>
    playId === null ? [] : [{ playId, gameId, maxLivePlays: games.get(gameId)?.maxLivePlays ?? 1 }],
  );
  const work = async (tx: Tx): Promise<RecordedBatch> => {
    // Sends the statements in one round trip. PostgreSQL runs them in this order: the lock that delays the closing of the UTC day, the locks of the
    // wallets, then the reads, which need these locks.
    const keys = submissions.map((s) => ({ board: gameBoard(s.gameId), wallet: s.wallet }));
    const [open, players, earlier, plays, regularBests, equalScores] = await Promise.all([
      openDay(tx),
      lockPlayers(
        tx,
        submissions.map((s) => s.wallet),
      ),
      readEarlier(tx, submissions),
      readPlays(tx, withPlay),
      readTotals(tx, 'regular', keys),
      countEqualScores(tx, normalized(submissions, games)),
    ]);
    // Few wallets play in beta mode, so their bests are read apart.
    const inBeta = keys.filter(({ wallet }) => players.get(wallet)?.mode === 'beta');
    const bests = [...regularBests, ...(await readTotals(tx, 'beta', inBeta))];
    let held: Promise<ReadonlyMap<string, number>> | undefined;
    const readHeld = () => {
      held ??= countHeldScores(tx, [...players.keys()]);
      return held;
    };
    const evidence = { ...known, plays, equalScores, readHeld, heartbeats: await readHeartbeatVerdicts(app, submissions, games, plays) };
    const batch = new ScoreBatch(app, open, players, evidence, earlier, bests);
    const recorded: SubmissionResult[] = [];
    for (const submission of submissions) recorded.push(await batch.take(submission));
    const repeats = recorded.flatMap((r) => ('row' in r && r.row.status === 'accepted' && !batch.newRows.includes(r.row) ? [r.row] : []));
    const unchanged = await readStandings(
      tx,
      repeats.flatMap((row) => [gameBoard(row.gameId), 'global'].map((board) => ({ board, mode: row.mode, wallet: row.wallet }))),
    );
    const changed = await batch.write(tx);
    return { day: open.day, recorded, standings: [...changed, ...unchanged] };
  };
  return app.tx(work);
}

/** Normalizes the scores of the submissions to known games; a score out of range becomes the nearest end of the scale. */
const normalized = (submissions: readonly Submission[], games: Evidence['games']): NormalizedSubmission[] =>
  submissions.flatMap((s) => {
    const game = games.get(s.gameId);
    return game ? [{ submission: s, game, normalized: normalize(game.normalization, s.score) }] : [];
  });

/** Evaluates the sessions of the plays whose games verify by heartbeat. Returns the verdicts by play id. */
async function readHeartbeatVerdicts(
  app: App,
  submissions: readonly Submission[],
  games: Evidence['games'],
  plays: Evidence['plays'],
): Promise<Evidence['heartbeats']> {
  const beating = submissions.flatMap((s) => {
    const play = plays.get(s.playId ?? '');
    if (!play || games.get(play.gameId)?.verification !== 'heartbeat') return [];
    return [{ playId: play.id, startedAt: play.startedAt, endedAt: new Date(s.at) }];
  });
  if (beating.length === 0) return new Map();
  const verdicts = await evaluateHeartbeats(app, beating);
  return new Map(beating.flatMap((play, i) => (verdicts[i] ? [[play.playId, verdicts[i]] as const] : [])));
}
