import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { contentId } from '#platform/storage/content-id.ts';

/** Entries per query. Their lines are about 400 KB of text. */
const ENTRIES_PER_CHUNK = 2_000;
// The database formats the lines, because reading the rows and formatting the lines in this process takes ten times as long. Each line equals the
// result of `entryLine`: sorted keys, no white space.
const selectLines = statement<{ lines: string; next: number }>(
  'select_entry_lines',
  `select string_agg('{"at":"' || ${instant('at')} || '","index":' || index || ',"messageId":' || to_json(message_id) || ',"numbers":' || array_to_json(numbers)
            || ',"source":' || to_json(source) || ',"wallet":"' || wallet || E'"}\\n', '' order by index) as lines, max(index) + 1 as next
   from (select * from entries where round = $1 and index >= $2 order by index limit ${ENTRIES_PER_CHUNK}) chunk having count(*) > 0`,
);

/** Returns the NDJSON of all entries of a round in chunks: one line per entry in the format of `entryLine`, ordered by index. */
export async function* entryLines(db: Queryable, round: string): AsyncGenerator<string> {
  for (let next = 0; ; ) {
    const chunk = (await db.query(selectLines, [round, next]))[0];
    if (!chunk) return;
    yield chunk.lines;
    next = chunk.next;
  }
}

/** Maximum size of the file of a round's entries, bytes. */
const MAX_FILE_BYTES = 1024 * 1024 * 1024;

/** Returns the id of the stored file of entries with a root (hex). */
export const entriesFileId = (root: string): string => contentId('coinop/entries-file/1', root);

/**
 * Stores the list of a round's entries in the media storage, so that it survives the loss of the database. Idempotent.
 * @param root root of the tree over the entries, hex; it determines the id of the file
 * @throws 503 when the storage is not available
 */
export async function storeEntriesFile({ db, storage }: Pick<App, 'db' | 'storage'>, round: string, root: string): Promise<void> {
  const draft = await storage.draft();
  try {
    await draft.fill(bytesOf(entryLines(db, round)), MAX_FILE_BYTES, () => undefined);
    await storage.put(entriesFileId(root), draft, 'application/x-ndjson');
  } finally {
    await draft.close();
  }
}

async function* bytesOf(lines: AsyncGenerator<string>): AsyncGenerator<Buffer> {
  for await (const text of lines) yield Buffer.from(text);
}
