import { type Queryable, statement } from '#platform/db/sql.ts';
import type { LedgerEntry } from './ledger.ts';

type PointKind = LedgerEntry['kind'];

const selectTotals = statement<{ kind: PointKind; points: number }>(
  'select_point_totals',
  `select kind, sum(points)::float8 as points from point_totals where mode = 'regular' and day between $1::int and $2::int group by kind`,
);

/**
 * Returns the sums of regular points by origin, minus the points that were taken back, in a range of UTC days. Reads the counters and not the ledger.
 * @param first first UTC day number; all days by default
 * @param last last UTC day number, included
 */
export async function readPointTotals(db: Queryable, first = 0, last = 2 ** 31 - 1): Promise<Record<PointKind, number>> {
  const totals: Record<PointKind, number> = { game: 0, quest: 0, referral: 0, conversion: 0 };
  for (const { kind, points } of await db.query(selectTotals, [first, last])) totals[kind] = points;
  return totals;
}
