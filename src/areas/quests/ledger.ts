import type { Mode } from '#areas/points';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { QuestFactors } from './multiplier.ts';

/** A ledger entry of a quest. */
interface QuestLedgerRow {
  readonly questId: string;
  readonly window: string;
  /** Negative in an entry that revokes or voids a completion. */
  readonly points: number;
  readonly reason: 'quest' | 'revoke' | 'void' | 'restore';
  /** Whether another entry revokes this entry. */
  readonly revoked: boolean;
  /** Reason of the operator who revoked the completion; null for an entry that gave points. */
  readonly note: string | null;
  readonly mode: Mode;
  /** Time of the entry, ISO 8601 in UTC. */
  readonly timestamp: string;
  /** Null in an entry that voids or restores a completion. */
  readonly factors: QuestFactors | null;
}

const QUEST_ENTRIES_OF_WALLET = `wallet = $1 and kind = 'quest' and source = 'quest'`;
// Selects the keys of one page of entries with an index-only scan, then reads only the rows with these keys. So a page with a high offset is also
// fast.
const selectEntries = statement<QuestLedgerRow>(
  'select_quest_entries',
  `select split_part(source_id, ':', 1) as "questId", split_part(source_id, ':', 2) as window, points::float8 as points, mode, reason,
          ${instant('at')} as timestamp, factors - 'by' - 'note' as factors, factors ->> 'note' as note,
          reason = 'quest' and exists (
            select from ledger r where r.source_id = page.id and r.source = 'quest' and r.wallet = $1 and r.reason = 'revoke' and r.mode = entry.mode
              and r.cause_day = cause_day('quest', page.id)) as revoked
   from (select source_id as id, reason as why, mode as how, row_number() over () as place from (
     select source_id, reason, mode from ledger where ${QUEST_ENTRIES_OF_WALLET}
     order by ledger.at desc, source_id desc, reason desc, mode limit $2 offset $3) k) page,
     lateral (select * from ledger where ${QUEST_ENTRIES_OF_WALLET} and source_id = page.id and reason = page.why and mode = page.how
       and cause_day = cause_day('quest', page.id) offset 0) entry
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
