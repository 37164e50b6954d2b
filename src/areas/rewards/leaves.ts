import { Readable } from 'node:stream';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readEpoch } from './epochs.ts';

/** Rows that are read at once: some 100 KB of text, which no request waits for noticeably. */
const ROWS_AT_ONCE = 1_000;

// The database writes the lines: a row that came as values would cost the process ten times as much.
const selectLines = statement<{ lines: string; next: number }>(
  'select_leaf_lines',
  `select string_agg(
            '{"index":' || case when amount > 0 then index::text else 'null' end || ',"wallet":"' || wallet || '","points":' || coalesce(points::text, 'null')
            || ',"amount":"' || amount || '"}', E'\\n' order by index) as lines, max(index) + 1 as next
   from reward_leaves where epoch = $1 and index >= $2 and index < $2 + ${ROWS_AT_ONCE} having count(*) > 0`,
);

/** An epoch's snapshot as a stream, and what names it: it never changes. */
export interface LeafFile {
  etag: string;
  open(): Readable;
}

/**
 * All that an epoch was made of, as NDJSON: a line with its rules and sums, then every wallet with points, leaves first, in
 * the order of their indexes. Read page by page as it is taken: a slow reader holds nothing.
 * @throws 404 no such epoch, or one that is still being computed
 */
export async function leafFile(app: App, epoch: number): Promise<LeafFile> {
  const found = await readEpoch(app.db, epoch);
  if (!found) throw fail(404, `there is no epoch ${epoch}`);
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
