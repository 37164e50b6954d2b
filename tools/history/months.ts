import type pg from 'pg';
import { type HistoryFile, monthText, readFile } from '#areas/points/history/index.ts';
import type { Storage } from '#platform/storage/storage.ts';

/** A closed partition, for the list. */
interface Line {
  readonly relation: string;
  readonly month: number;
  readonly state: string;
  readonly rows: string;
  readonly files: number;
}

/** Returns one line per closed partition. */
export async function describeMonths(db: pg.Client): Promise<readonly string[]> {
  const { rows } = await db.query<Line>(`
    select relation, month, row_count::text as rows,
      (select count(*)::int from history_files f where f.relation = k.relation and f.month = k.month and verified_at is not null) as files,
      case when dropped_at is not null then 'dropped' when detached_at is not null then 'detached' when exported_at is not null then 'exported'
        when closed_at is not null then 'closed' when counted = blocks then 'waits until its newest row is older' else format('counted %s of %s blocks', counted, blocks) end as state
    from closed_partitions k order by month, relation`);
  if (rows.length === 0) return ['no month is closed'];
  return rows.map(
    ({ relation, month, state, rows: n, files }) => `${monthText(month)}  ${relation.padEnd(12)} ${n.padStart(12)} rows  ${files} files  ${state}`,
  );
}

/**
 * Opens the newest closed month again, and deletes its files. The rows of the files are deleted first, so that no row names a deleted file.
 * @throws when the month is detached, or is not the newest closed month
 */
export async function reopenMonth(db: pg.Client, storage: Storage, month: number): Promise<readonly string[]> {
  const { rows: files } = await db.query<{ id: string }>('select id from history_files where month = $1', [month]);
  const { rows } = await db.query<{ opened: number }>('select reopen_month($1) as opened', [month]);
  for (const { id } of files) await storage.remove(id);
  return [`${monthText(month)}: ${rows[0]?.opened ?? 0} tables can be written again`];
}

/**
 * Drops the detached tables of a month after all its files are read from the storage and equal the stored sums.
 * @throws when the month is not detached, or a file is missing or differs
 */
export async function dropMonth(db: pg.Client, storage: Storage, month: number): Promise<readonly string[]> {
  const { rows: parts } = await db.query<{ relation: string; rows: string; checksum: string; isDetached: boolean }>(
    `select relation, row_count::text as rows, checksum::text as checksum, detached_at is not null as "isDetached" from closed_partitions
     where month = $1 and dropped_at is null order by relation`,
    [month],
  );
  if (parts.length === 0) throw new Error(`${monthText(month)} has no tables that can be dropped`);
  for (const { relation, rows, checksum, isDetached } of parts) {
    if (!isDetached) throw new Error(`${monthText(month)}: ${relation} is not detached, so its table cannot be dropped`);
    const { rows: files } = await db.query<HistoryFile>(
      `select id, row_count::text as rows, checksum::text as checksum, bytes::text as bytes, encode(sha256, 'hex') as sha256 from history_files
       where relation = $1 and month = $2 and stored_at is not null order by part`,
      [relation, month],
    );
    const total = { rows: 0, checksum: 0n };
    for (const file of files) {
      const read = await readFile(storage, file);
      total.rows += read.rows;
      total.checksum += read.checksum;
    }
    if (String(total.rows) !== rows || String(total.checksum) !== checksum) {
      throw new Error(
        `${monthText(month)}: the files of ${relation} have ${total.rows} rows with another checksum than the ${rows} closed rows; no table is dropped`,
      );
    }
  }
  await db.query('select drop_month($1)', [month]);
  return [`${monthText(month)}: ${parts.length} tables are dropped; their rows are in the media storage`];
}
