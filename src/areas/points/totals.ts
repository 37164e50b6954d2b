import { type Queryable, statement } from '#platform/db/sql.ts';
import type { LedgerEntry } from './ledger.ts';

type PointKind = LedgerEntry['kind'];

const selectTotals = statement<{ kind: PointKind; points: number }>(
  'select_point_totals',
  `select kind, sum(points)::float8 as points from point_totals where mode = 'regular' and day between $1::int and $2::int group by kind`,
);

/**
 * Returns the regular points that wallets have got in a range of UTC days, by origin; subtracts the points that were taken back. Reads the counters
 * and not the ledger.
 * @param first the UTC day number at which the range begins; 0 by default
 * @param last the UTC day number at which the range ends (inclusive); no limit by default
 */
export async function readPointTotals(db: Queryable, first = 0, last = 2 ** 31 - 1): Promise<Record<PointKind, number>> {
  const totals: Record<PointKind, number> = { game: 0, quest: 0, referral: 0, conversion: 0 };
  for (const { kind, points } of await db.query(selectTotals, [first, last])) totals[kind] = points;
  return totals;
}
