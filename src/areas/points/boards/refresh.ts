import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readStandings } from '../standings.ts';
import { applyToBoard } from './boards.ts';
import { today } from './rebuild.ts';

/** How many changed standings are taken at once, and how many times a run does so. */
const BATCH = 500;
const MOST_BATCHES = 100;

interface Refresh {
  board: string;
  wallet: string;
  version: string;
}

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
 * Shows on the boards what other writers than the score path changed: reads what the standings are now, shows it, and only
 * then forgets that it was asked for.
 */
export async function refreshBoards(app: App): Promise<void> {
  for (let i = 0; i < MOST_BATCHES; i++) {
    const asked = await app.db.query(selectRefreshes);
    if (asked.length === 0) return;
    const rows = await readStandings(
      app.db,
      asked.map(({ board, wallet }) => ({ board, wallet, mode: 'regular' })),
    );
    const day = await today(app);
    for (const [board, standings] of Map.groupBy(rows, (row) => row.board)) await applyToBoard(app, board, day, standings);
    await app.tx((tx) => tx.query(deleteRefreshes, [asked.map((r) => r.board), asked.map((r) => r.wallet), asked.map((r) => r.version)]));
    if (asked.length < BATCH) return;
  }
}
