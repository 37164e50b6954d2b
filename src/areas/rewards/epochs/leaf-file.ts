import { Readable } from 'node:stream';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readEpoch } from './epochs.ts';

/** Rows per page, about 100 KB of text, so that building a page does not delay other requests. */
const ROWS_PER_PAGE = 1_000;

// PostgreSQL builds the JSON lines, because parsing rows and serializing them here costs ten times the CPU.
const selectLines = statement<{ lines: string; next: number }>(
  'select_leaf_lines',
  `select string_agg(
            '{"index":' || case when amount > 0 then index::text else 'null' end || ',"wallet":"' || wallet || '","points":' || coalesce(points::text, 'null')
            || ',"amount":"' || amount || '"}', E'\\n' order by index) as lines, max(index) + 1 as next
   from reward_leaves where epoch = $1 and index >= $2 and index < $2 + ${ROWS_PER_PAGE} having count(*) > 0`,
);

/** The immutable leaf file of an epoch: its ETag, and a function that opens the stream. */
interface LeafFile {
  etag: string;
  open(): Readable;
}

/**
 * Returns the leaf file of an epoch as NDJSON: a line with rules and sums, then one line per wallet with points, in the order
 * of the leaf indexes; unpaid wallets follow. The stream reads the next page on demand, so a slow reader holds no transaction.
 * @throws 404 when the epoch does not exist or is still being computed
 */
export async function leafFile(app: App, epoch: number): Promise<LeafFile> {
  const found = await readEpoch(app.db, epoch);
  if (!found) throw fail(404, `epoch ${epoch} does not exist`);
  if (found.computedAt === null) throw fail(404, `epoch ${epoch} is still being computed`);
  const { source, formulaVersion, pool, cap, dust, points, wallets, leaves, total, undistributed, root } = found;
  const header = { epoch, source, formulaVersion, pool, cap, dust, points, wallets, leaves, total, undistributed, root };
  async function* lines(): AsyncGenerator<string> {
    yield `${JSON.stringify(header)}\n`;
    for (let next = 0; ; ) {
      const page = (await app.db.query(selectLines, [epoch, next]))[0];
      if (!page) return;
      yield `${page.lines}\n`;
      next = page.next;
    }
  }
  return { etag: `"leaves-${root ?? 'none'}-${wallets}"`, open: () => Readable.from(lines(), { objectMode: false, highWaterMark: 1 }) };
}
