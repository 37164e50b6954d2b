import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { type ClosedPartition, exportPart, type HistoryFile, readFile } from './files.ts';
import { isRelation, monthText } from './months.ts';

/**
 * Returns the SQL condition that the scores of a month are detached, so that a query must add the sums of `carried_games` to the rows of `scores`.
 * @param month an SQL expression for the month (see `bucketOf`)
 */
export const isDetached = (month: string): string =>
  `exists (select from closed_partitions k where k.relation = 'scores' and k.month = ${month} and k.detached_at is not null)`;

const selectToExport = statement<{ relation: string; month: number; columns: string[]; blocks: number }>(
  'select_partitions_to_export',
  `select relation, month, columns, blocks from closed_partitions
   where exported_at is null and closed_at is not null and month < $1
     and not exists (select from closed_partitions k where k.month = closed_partitions.month and k.closed_at is null)
   order by month, relation limit 1`,
);
const selectUnverified = statement<HistoryFile>(
  'select_unverified_history_files',
  `select id, row_count::text as rows, checksum::text as checksum, bytes::text as bytes, encode(sha256, 'hex') as sha256 from history_files
   where relation = $1 and month = $2 and stored_at is not null and verified_at is null order by part`,
);
const markVerified = statement('mark_history_file_verified', 'update history_files set verified_at = app_now() where id = $1');
/** Marks a partition as exported if its verified files contain exactly its counted rows. */
const markExported = statement<{ one: number }>(
  'mark_partition_exported',
  `update closed_partitions k set exported_at = app_now() where relation = $1 and month = $2 and exported_at is null
     and (row_count, checksum, true) = (
       select coalesce(sum(f.row_count), 0), coalesce(sum(f.checksum), 0), coalesce(bool_and(f.verified_at is not null), true)
       from history_files f where f.relation = k.relation and f.month = k.month)
   returning 1 as one`,
);

/**
 * Exports the oldest closed partition of the months before `until`, and compares its files with its stored sums.
 * @param fileBlocks the number of blocks per file
 * @param isTimeUp returns whether to stop after the present file; the next call continues
 * @returns false when no partition is left to export, or another process exports it
 * @throws when a file differs from its partition; the partition then stays attached
 */
export async function exportNext(app: App, until: number, fileBlocks: number, isTimeUp: () => boolean): Promise<boolean> {
  const [next] = await app.db.query(selectToExport, [until]);
  if (!next || !isRelation(next.relation)) return false;
  const partition: ClosedPartition = { ...next, relation: next.relation, fileBlocks };
  const { relation, month, blocks } = partition;
  for (let part = 0; part < blocks; part += fileBlocks) {
    if (isTimeUp()) return true;
    if (!(await exportPart(app, partition, part))) return false;
  }
  for (const file of await app.db.query(selectUnverified, [relation, month])) {
    if (isTimeUp()) return true;
    const { rows, checksum } = await readFile(app.storage, file);
    if (String(rows) !== file.rows || String(checksum) !== file.checksum) throw new Error(`the file ${file.id} has other rows than ${relation}`);
    await app.tx((tx) => tx.query(markVerified, [file.id]));
  }
  const [exported] = await app.tx((tx) => tx.query(markExported, [relation, month]));
  if (!exported) throw new Error(`the files of ${relation} in ${monthText(month)} do not have the counted rows; see docs/operations.md, "History"`);
  return true;
}

const selectToDetach = statement<{ month: number }>(
  'select_month_to_detach',
  `select month from closed_partitions where month < $1 group by month
   having bool_and(exported_at is not null) and not bool_and(detached_at is not null) order by month limit 1`,
);
const detach = statement<{ detached: number }>('detach_month', 'select detach_month($1) as detached');
const analyze = statement('analyze_partitions', 'select analyze_partitions()');

/**
 * Detaches the oldest exported month before `until`. @returns false when there is none
 * @throws when another transaction holds a lock for too long; the next run tries again
 */
export async function detachNext(app: App, until: number): Promise<boolean> {
  const [next] = await app.db.query(selectToDetach, [until]);
  if (!next) return false;
  await app.tx((tx) => tx.query(detach, [next.month]));
  await app.tx((tx) => tx.query(analyze));
  app.log.info({ month: monthText(next.month) }, 'a month of the history is detached; its files are in the media storage');
  return true;
}
