import type { Mode } from '#areas/points';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { QuestFactors } from './multiplier.ts';

/** A ledger entry of a quest. */
interface QuestLedgerRow {
  readonly questId: string;
  readonly window: string;
  readonly points: number;
  readonly mode: Mode;
  /** Time of the entry, ISO 8601 in UTC. */
  readonly timestamp: string;
  readonly factors: QuestFactors;
}

const QUEST_ENTRIES_OF_WALLET = `wallet = $1 and kind = 'quest' and source = 'quest'`;
// Selects the keys of one page of entries with an index-only scan, then reads only the rows with these keys. So a page with a high offset is also
// fast.
const selectEntries = statement<QuestLedgerRow>(
  'select_quest_entries',
  `select split_part(source_id, ':', 1) as "questId", split_part(source_id, ':', 2) as window, points::float8 as points, mode,
          ${instant('at')} as timestamp, factors
   from (select source_id as id, row_number() over () as place from (
     select source_id from ledger where ${QUEST_ENTRIES_OF_WALLET} order by ledger.at desc, source_id desc limit $2 offset $3) k) page,
     lateral (select * from ledger where ${QUEST_ENTRIES_OF_WALLET} and source_id = page.id offset 0) entry
   order by place`,
);
const countEntries = statement<{ total: number }>(
  'count_quest_entries',
  `select count(*)::int as total from ledger where ${QUEST_ENTRIES_OF_WALLET}`,
);

/** Reads a page of the quest entries of a wallet, newest first, and the total number of entries. */
export async function readQuestEntries(
  db: Queryable,
  wallet: string,
  limit: number,
  offset: number,
): Promise<{ entries: QuestLedgerRow[]; total: number }> {
  const [entries, [count]] = await Promise.all([db.query(selectEntries, [wallet, limit, offset]), db.query(countEntries, [wallet])]);
  return { entries, total: count?.total ?? 0 };
}
