import { createHash, randomUUID } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Storage } from '#platform/storage/storage.ts';
import { ofMonth, type Relation } from './months.ts';
import { checksumOfLine, rowLines } from './row-text.ts';

/** Blocks that one query reads, so that a process holds at most some megabytes of rows. */
const QUERY_BLOCKS = 256;
/** Maximum bytes of a file. The rows of one file are smaller, also when gzip does not make them smaller. */
const MAX_FILE_BYTES = 2 * 1024 ** 3;
const CONTENT_TYPE = 'application/gzip';

/** A closed partition to export. */
export interface ClosedPartition {
  readonly relation: Relation;
  readonly month: number;
  readonly columns: readonly string[];
  readonly blocks: number;
  /** Number of blocks whose rows one file contains. */
  readonly fileBlocks: number;
}

/** A stored file, as its row describes it. */
export interface HistoryFile {
  readonly id: string;
  readonly rows: string;
  readonly checksum: string;
  readonly bytes: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** The sums over the rows of a file. */
export interface FileSums {
  rows: number;
  checksum: bigint;
}

/** Leases a file that is not stored, for longer than `put` may take. Returns no row if the file is stored, or if another process writes it. */
const leaseFile = statement<{ id: string }>(
  'lease_history_file',
  `insert into history_files as f (id, relation, month, part) values ($1, $2, $3, $4)
   on conflict (relation, month, part) do update set leased_at = app_now() where f.stored_at is null and f.leased_at < (select app_now()) - interval '10 minutes'
   returning id`,
);
const selectStored = statement<{ one: number }>(
  'select_stored_history_file',
  'select 1 as one from history_files where relation = $1 and month = $2 and part = $3 and stored_at is not null',
);
const storeFile = statement(
  'store_history_file',
  `update history_files set row_count = $2::int8, checksum = $3::numeric, bytes = $4::int8, sha256 = $5, stored_at = app_now() where id = $1 and stored_at is null`,
);

/**
 * Stores one file with the rows of some blocks: gzip of one JSON object per line. Does nothing when the file is stored. The row with the id of the
 * file is committed first. A killed process therefore leaves no unknown file: a call after the end of its lease replaces the file of the same id.
 * @param part the number of the first block
 * @returns whether the file is stored; false while another process writes it
 */
export async function exportPart(app: App, partition: ClosedPartition, part: number): Promise<boolean> {
  const { relation, month } = partition;
  const [file] = await app.tx((tx) => tx.query(leaseFile, [randomUUID(), relation, month, part]));
  if (!file) return (await app.db.query(selectStored, [relation, month, part])).length > 0;
  const sums: FileSums = { rows: 0, checksum: 0n };
  const draft = await app.storage.draft();
  try {
    const packed = createGzip();
    // An error of the database destroys `packed`, so that `fill` throws it.
    pipeline(Readable.from(readLines(app.db, partition, part, sums), { objectMode: false }), packed, () => undefined);
    await draft.fill(packed, MAX_FILE_BYTES, () => undefined);
    await app.storage.remove(file.id);
    await app.storage.put(file.id, draft, CONTENT_TYPE);
    await app.tx((tx) => tx.query(storeFile, [file.id, sums.rows, String(sums.checksum), draft.bytes, draft.sha256]));
    return true;
  } finally {
    await draft.close();
  }
}

/** Reads the rows of the blocks of a file as lines of JSON, and adds them to `sums`. */
async function* readLines(
  db: Queryable,
  { relation, month, columns, blocks, fileBlocks }: ClosedPartition,
  part: number,
  sums: FileSums,
): AsyncGenerator<string> {
  const end = Math.min(blocks, part + fileBlocks);
  for (let from = part; from < end; from += QUERY_BLOCKS) {
    const until = Math.min(end, from + QUERY_BLOCKS);
    const rows = await db.query<{ line: string }>({
      text: rowLines(columns, `${relation} where ${ofMonth(relation, month)} and ctid >= '(${from},0)' and ctid < '(${until},0)'`),
    });
    for (const { line } of rows) add(sums, line);
    if (rows.length > 0) yield `${rows.map(({ line }) => line).join('\n')}\n`;
  }
}

function add(sums: FileSums, line: string): void {
  sums.rows += 1;
  sums.checksum += checksumOfLine(line);
}

/**
 * Reads a file from the storage and returns the sums over its rows.
 * @param onLine receives each row as JSON
 * @throws when the bytes are not those that were stored, or the storage is not available
 */
export async function readFile(
  storage: Storage,
  file: Pick<HistoryFile, 'id' | 'bytes' | 'sha256'>,
  onLine = (_line: string): void => undefined,
): Promise<FileSums> {
  const sums: FileSums = { rows: 0, checksum: 0n };
  const hash = createHash('sha256');
  const stored = await storage.open(file.id, { start: 0, end: Number(file.bytes) - 1 });
  const unpacked = createGunzip();
  stored.on('data', (chunk: Buffer) => hash.update(chunk));
  // An error of the storage destroys `unpacked`, so that the loop throws it.
  pipeline(stored, unpacked, () => undefined);
  for await (const line of linesOf(unpacked)) {
    add(sums, line);
    onLine(line);
  }
  if (hash.digest('hex') !== file.sha256) throw new Error(`the file ${file.id} differs from the file that was stored`);
  return sums;
}

/** Yields the lines of a stream, without the line feeds. Node's readline would also end a line at characters that a text in a row may contain. */
async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
