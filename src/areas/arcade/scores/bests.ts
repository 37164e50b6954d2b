import { type BoardStanding, gameBoard, isDetached, type Mode, readStandings, resetBest } from '#areas/points';
import { bucketStart, PERIODS } from '#lib/periods.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

const bestOf = statement<{ best: number }>(
  'best_of_remaining_scores',
  `select greatest(coalesce(max(s.normalized), 0), (
     select max(g.best) from carried_games g where g.wallet = $1 and g.game_id = $2 and g.mode = $3 and ${isDetached('g.month')}
       and make_date(g.paid_month / 12, g.paid_month % 12 + 1, 1) - date '1970-01-01' between span.first and span.past - 1))::int as best
   from unnest($4::int[], $5::int[]) with ordinality as span(first, past, n)
   left join scores s on s.wallet = $1 and s.game_id = $2 and s.mode = $3 and s.status = 'accepted' and s.day >= span.first and s.day < span.past
   group by span.n, span.first, span.past order by span.n`,
);

/** Range of UTC day numbers that includes every day, from `first` (included) to `past` (excluded). */
const ALL_TIME = { first: 0, past: 2 ** 31 - 1 };

/**
 * Recomputes a wallet's best scores in a game from its accepted scores: for all time and, for each period, in the current and the previous bucket
 * (one day, week, month or year).
 * @returns the changed standings
 */
export async function recomputeBests(tx: Tx, gameId: string, mode: Mode, wallet: string): Promise<BoardStanding[]> {
  const board = gameBoard(gameId);
  const row = (await readStandings(tx, [{ board, mode, wallet }]))[0];
  if (!row) return [];
  const buckets = PERIODS.flatMap((period) => [row[period], row[`${period}_before`]].map((bucket) => ({ period, bucket })));
  const spans = [
    ALL_TIME,
    ...buckets.map(({ period, bucket }) =>
      bucket === null ? { first: 0, past: 0 } : { first: bucketStart(period, bucket), past: bucketStart(period, bucket + 1) },
    ),
  ];
  const bests = await tx.query(bestOf, [wallet, gameId, mode, spans.map((s) => s.first), spans.map((s) => s.past)]);
  return await resetBest(
    tx,
    { board, mode, wallet },
    bests.map((b) => b.best),
  );
}
