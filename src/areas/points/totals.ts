import { type Queryable, statement } from '#platform/db/sql.ts';
import type { LedgerEntry } from './ledger.ts';

type PointKind = LedgerEntry['kind'];

const selectTotals = statement<{ kind: PointKind; points: number }>(
  'select_point_totals',
  `select kind, sum(points)::float8 as points from point_totals where mode = 'regular' group by kind`,
);

/** Returns the regular points that wallets have got, by origin, minus the points that were taken back. Reads the counters and not the ledger. */
export async function readPointTotals(db: Queryable): Promise<Record<PointKind, number>> {
  const totals: Record<PointKind, number> = { game: 0, quest: 0, referral: 0, conversion: 0, adjustment: 0 };
  for (const { kind, points } of await db.query(selectTotals)) totals[kind] = points;
  return totals;
}
