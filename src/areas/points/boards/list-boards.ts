import { type Queryable, statement } from '#platform/db/sql.ts';

// Runs one index lookup per board instead of one scan of all standings, so the cost does not depend on the number of wallets.
const selectBoards = statement<{ board: string }>(
  'select_boards',
  `with recursive hop (board) as (
     (select board from standings order by board limit 1)
     union all
     select (select s.board from standings s where s.board > hop.board order by s.board limit 1) from hop where hop.board is not null)
   select board from hop where board is not null`,
);

/** Returns the names of all boards that have standings. */
export async function listBoards(db: Queryable): Promise<string[]> {
  return (await db.query(selectBoards)).map((row) => row.board);
}
