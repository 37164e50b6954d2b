import { type Queryable, statement } from '../../db/sql.ts';
import type { Mode } from '../points/points.ts';
import type { Factors } from './multiplier.ts';

/** What a quest gave a wallet. */
interface Entry {
  readonly questId: string;
  readonly window: string;
  readonly points: number;
  readonly mode: Mode;
  /** ms since 1970. */
  readonly at: number;
  readonly factors: Factors;
}

const OF_QUESTS = `wallet = $1 and kind = 'quest' and source = 'quest'`;
const selectEntries = statement<Entry>(
  'select_quest_entries',
  `select split_part(source_id, ':', 1) as "questId", split_part(source_id, ':', 2) as window, points::float8 as points, mode,
          floor(extract(epoch from at) * 1000)::float8 as at, factors
   from ledger where ${OF_QUESTS} order by ledger.at desc, source_id desc limit $2 offset $3`,
);
const countEntries = statement<{ total: number }>('count_quest_entries', `select count(*)::int as total from ledger where ${OF_QUESTS}`);

/** A page of what quests gave a wallet, newest first, and how many entries there are. */
export async function readQuestEntries(db: Queryable, wallet: string, limit: number, offset: number): Promise<{ entries: Entry[]; total: number }> {
  const [entries, [count]] = await Promise.all([db.query(selectEntries, [wallet, limit, offset]), db.query(countEntries, [wallet])]);
  return { entries, total: count?.total ?? 0 };
}
