import { applyToBoard, gameBoard, readRank } from '#areas/points';
import type { Neighbourhood } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import { recentPlaces } from './recent-places.ts';
import type { RecordedBatch } from './record.ts';
import { receiptOf } from './rows.ts';
import type { ScoreOutcome } from './schemas.ts';
import type { SubmissionResult } from './score-batch.ts';

/**
 * Copies the standings of a committed batch to the boards in Redis, with one Redis call per board. Reads the ranks from the database if a board is
 * not complete in Redis.
 * @returns the outcome of each submission, with the wallet's rank after the commit
 */
export async function respond(app: App, batch: RecordedBatch): Promise<{ id: string; outcome: ScoreOutcome }[]> {
  const rows = batch.recorded.flatMap((entry) => ('row' in entry ? [entry.row] : []));
  const rowsByBoard = Map.groupBy(rows, (row) => gameBoard(row.gameId));
  const changed = Map.groupBy(batch.standings, (row) => row.board);
  const places = new Map<string, Neighbourhood>();
  await Promise.all(
    [...new Set([...rowsByBoard.keys(), ...changed.keys()])].map(async (board) => {
      const wallets = [...new Set(rowsByBoard.get(board)?.map((row) => row.wallet))];
      const found = await applyToBoard(app, board, batch.day, changed.get(board) ?? [], wallets);
      const known = found ?? (await Promise.all(wallets.map((wallet) => readRank(app, board, { span: 'all', wallet }))));
      wallets.forEach((wallet, i) => {
        const place = known[i];
        if (place) places.set(`${board} ${wallet}`, place);
      });
    }),
  );
  const recent = app.state(recentPlaces);
  return batch.recorded.map((entry) => {
    const result = outcome(entry, places);
    if (result.status === 200) recent.keep(result.receipt.scoreId, result.receipt.rank);
    return { id: entry.submission.id, outcome: result };
  });
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
