import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readStandings } from '../standings.ts';
import { applyToBoard } from './boards.ts';
import { readToday } from './rebuild.ts';

/** BATCH: standings per batch. MAX_BATCHES: maximum batches per run. */
const BATCH = 500;
const MAX_BATCHES = 100;

interface Refresh {
  board: string;
  wallet: string;
  version: string;
}

/** SQL: the marks of standings that are still to be copied to the boards. */
export const MARKED_REFRESHES = 'select 1 from board_refreshes';

const selectRefreshes = statement<Refresh>(
  'select_board_refreshes',
  `select board, wallet, version::text as version from board_refreshes order by board, wallet, version limit ${BATCH}`,
);

const deleteRefreshes = statement(
  'delete_board_refreshes',
  `delete from board_refreshes r using unnest($1::text[], $2::text[], $3::int8[]) as done(board, wallet, version)
   where r.board = done.board and r.wallet = done.wallet and r.version = done.version`,
);

/**
 * Copies the standings that are marked in the table `board_refreshes` to the boards in Redis. Deletes the marks after the copy, so that after a
 * failed run the next run repeats the copy.
 */
export async function refreshBoards(app: App): Promise<void> {
  for (let i = 0; i < MAX_BATCHES; i++) {
    const marks = await app.db.query(selectRefreshes);
    if (marks.length === 0) return;
    const rows = await readStandings(
      app.db,
      marks.map(({ board, wallet }) => ({ board, wallet, mode: 'regular' })),
    );
    const day = await readToday(app);
    for (const [board, standings] of Map.groupBy(rows, (row) => row.board)) await applyToBoard(app, board, day, standings);
    await app.tx((tx) => tx.query(deleteRefreshes, [marks.map((r) => r.board), marks.map((r) => r.wallet), marks.map((r) => r.version)]));
    if (marks.length < BATCH) return;
  }
}
