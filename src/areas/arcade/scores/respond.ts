import { applyToBoard, gameBoard, readRank } from '#areas/points';
import type { Neighbourhood } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import { recentPlaces } from './recent-places.ts';
import type { RecordedBatch } from './record.ts';
import { receiptOf } from './rows.ts';
import type { ScoreOutcome } from './schemas.ts';
import type { SubmissionResult } from './score-batch.ts';

/** A submission's id and outcome. */
export interface IdentifiedOutcome {
  readonly id: string;
  readonly outcome: ScoreOutcome;
}

/**
 * Copies the standings of a committed batch to the boards in Redis, with one Redis call per board. Reads the ranks from the database if a board is
 * not complete in Redis.
 * @param reply sends the outcomes to the waiting requests. It is called as soon as the boards whose ranks the outcomes contain are up to date
 * @returns the outcome of each submission, with the wallet's rank after the commit
 */
export async function respond(
  app: App,
  batch: RecordedBatch,
  reply: (outcomes: readonly IdentifiedOutcome[]) => Promise<void>,
): Promise<IdentifiedOutcome[]> {
  const rows = batch.recorded.flatMap((entry) => ('row' in entry ? [entry.row] : []));
  const rowsByBoard = Map.groupBy(rows, (row) => gameBoard(row.gameId));
  const changed = Map.groupBy(batch.standings, (row) => row.board);
  const copy = (board: string, wallets: readonly string[] = []) => applyToBoard(app, board, batch.day, changed.get(board) ?? [], wallets);
  const places = new Map<string, Neighbourhood>();
  await Promise.all(
    [...rowsByBoard].map(async ([board, ofBoard]) => {
      const wallets = [...new Set(ofBoard.map((row) => row.wallet))];
      const known = (await copy(board, wallets)) ?? (await Promise.all(wallets.map((wallet) => readRank(app, board, { span: 'all', wallet }))));
      wallets.forEach((wallet, i) => {
        const place = known[i];
        if (place) places.set(`${board} ${wallet}`, place);
      });
    }),
  );
  const recent = app.state(recentPlaces);
  const outcomes = batch.recorded.map((entry) => {
    const result = outcome(entry, places);
    if (result.status === 200) recent.keep(result.receipt.scoreId, result.receipt.rank);
    return { id: entry.submission.id, outcome: result };
  });
  // Sends the replies and the other boards together, and the replies first. Redis runs the commands of a connection one after the other, so a client
  // that has its reply finds its score on the other boards as well.
  const others = [...changed.keys()].filter((board) => !rowsByBoard.has(board));
  await Promise.all([reply(outcomes), ...others.map((board) => copy(board))]);
  return outcomes;
}

function outcome(entry: SubmissionResult, places: ReadonlyMap<string, Neighbourhood>): ScoreOutcome {
  if (!('row' in entry)) return { status: entry.status, error: entry.error };
  const { row, leftToday } = entry;
  const rank = places.get(`${gameBoard(row.gameId)} ${row.wallet}`);
  if (!rank) return { status: 503, error: 'the score is recorded, but its rank cannot be read at the moment: send the same score again' };
  return {
    status: 200,
    receipt: { ...receiptOf(row, leftToday), rank },
  };
}
