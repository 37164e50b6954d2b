import type { Mode } from '#areas/points';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Factors } from './multiplier.ts';

/** What a quest gave a wallet. */
interface Entry {
  readonly questId: string;
  readonly window: string;
  readonly points: number;
  readonly mode: Mode;
  /** ISO 8601 in UTC. */
  readonly timestamp: string;
  readonly factors: Factors;
}

const OF_QUESTS = `wallet = $1 and kind = 'quest' and source = 'quest'`;
// Which rows a page has, the index says by itself; only those are read, however far the page lies.
const selectEntries = statement<Entry>(
  'select_quest_entries',
  `select split_part(source_id, ':', 1) as "questId", split_part(source_id, ':', 2) as window, points::float8 as points, mode,
          ${instant('at')} as timestamp, factors
   from (select source_id as id, row_number() over () as place from (
     select source_id from ledger where ${OF_QUESTS} order by ledger.at desc, source_id desc limit $2 offset $3) k) page,
     lateral (select * from ledger where ${OF_QUESTS} and source_id = page.id offset 0) entry
   order by place`,
);
const countEntries = statement<{ total: number }>('count_quest_entries', `select count(*)::int as total from ledger where ${OF_QUESTS}`);

/** A page of what quests gave a wallet, newest first, and how many entries there are. */
export async function readQuestEntries(db: Queryable, wallet: string, limit: number, offset: number): Promise<{ entries: Entry[]; total: number }> {
  const [entries, [count]] = await Promise.all([db.query(selectEntries, [wallet, limit, offset]), db.query(countEntries, [wallet])]);
  return { entries, total: count?.total ?? 0 };
}
