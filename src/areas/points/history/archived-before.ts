import { type Queryable, statement } from '#platform/db/sql.ts';

const selectDay = statement<{ day: string | null }>(
  'select_archived_before',
  `select to_char(make_date(max(month) / 12, max(month) % 12 + 1, 1) + interval '1 month', 'YYYY-MM-DD') as day
   from closed_partitions where detached_at is not null`,
);

/**
 * Returns the day before which scores, ledger rows and activities are in the archive, such as `2026-09-01`; null when none are. Lists do not have the
 * archived rows.
 */
export const readArchivedBefore = async (db: Queryable): Promise<string | null> => (await db.query(selectDay))[0]?.day ?? null;

/** Returns the header of a list whose older rows are in the archive; no header when no month is. The route of the list declares `archived`. */
export async function archivedHeader(db: Queryable): Promise<Record<string, string>> {
  const day = await readArchivedBefore(db);
  return day === null ? {} : { 'X-Archived-Before': day };
}
