import { instant, type Queryable, statement } from '#platform/db/sql.ts';

/** A record of a hash chain with its content. Hashes are hex. */
export interface StoredRecord {
  recordId: string;
  sequence: number;
  hash: string;
  previousHash: string;
  contentHash: string;
  /** Null when the record is erased. */
  salt: string | null;
  record: Record<string, unknown> | null;
  recordedAt: string;
}

// The newest sequence number is the number of records, because the sequence has no gaps. So the page is a range of the primary key.
const selectPage = statement<{ total: number } & (StoredRecord | { recordId: null })>(
  'select_game_records',
  `with last as (
     select coalesce((select sequence from game_records where wallet = $1 and game_id = $2 order by sequence desc limit 1), 0) as total)
   select last.total, r.* from last left join lateral (
     select id::text as "recordId", sequence, encode(hash, 'hex') as hash, encode(previous_hash, 'hex') as "previousHash",
       encode(content_hash, 'hex') as "contentHash", encode(salt, 'hex') as salt, record, ${instant('at')} as "recordedAt"
     from game_records where wallet = $1 and game_id = $2 and sequence <= last.total - $4::int and sequence > last.total - $4::int - $3::int
     order by sequence desc limit $3::int) r on true
   order by r.sequence desc`,
);

/** Reads a page of a wallet's records in a game, newest first, and the number of all of them. */
export async function listRecords(
  db: Queryable,
  wallet: string,
  gameId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ records: StoredRecord[]; total: number }> {
  const rows = await db.query(selectPage, [wallet, gameId, limit, offset]);
  const records = rows.flatMap(({ total: _total, ...row }) => (row.recordId === null ? [] : [row]));
  return { records, total: rows[0]?.total ?? 0 };
}
