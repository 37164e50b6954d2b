import { Readable } from 'node:stream';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readAllocation } from '../review/allocations.ts';
import { mayChange, readEpoch } from './epochs.ts';

/** Rows per page of the file: about 100 KB of text. The pages are small, so that building one page does not delay other requests. */
const ROWS_PER_PAGE = 1_000;

// PostgreSQL builds the JSON lines, because parsing and serializing each row in this process would cost ten times the CPU time.
const selectLines = statement<{ lines: string; next: number }>(
  'select_leaf_lines',
  `select string_agg(
            '{"index":' || case when amount > 0 then index::text else 'null' end || ',"wallet":"' || wallet || '","points":' || coalesce(points::text, 'null')
            || ',"amount":"' || amount || '"}', E'\\n' order by index) as lines, max(index) + 1 as next
   from reward_leaves where epoch = $1 and allocation = $3::smallint and index >= $2 and index < $2 + ${ROWS_PER_PAGE} having count(*) > 0`,
);

/** The leaf file of an allocation, which never changes: its ETag, and a function that opens a stream of its text. */
interface LeafFile {
  etag: string;
  /** Whether the allocation in force can still be replaced by another one. */
  mayChange: boolean;
  open(): Readable;
}

/**
 * Returns the leaf file of an allocation as NDJSON. The first line has the rules and the sums. Each further line is a wallet with points that is not
 * excluded: first the paid wallets in the order of their leaf indexes, then the unpaid wallets. The stream queries a page only when the reader needs it.
 * @param number number of the allocation; null for the allocation in force
 * @throws 404 when the epoch or the allocation does not exist, or the epoch is still being computed
 */
export async function leafFile(app: App, epoch: number, number: number | null): Promise<LeafFile> {
  const found = await readEpoch(app.db, epoch);
  if (!found) throw fail(404, `epoch ${epoch} does not exist`);
  if (found.computedAt === null) throw fail(404, `epoch ${epoch} is still being computed`);
  const { source, formulaVersion, pool, cap, dust } = found;
  const chosen = number === null || number === found.allocation ? found : await readAllocation(app.db, epoch, number);
  if (!chosen) throw fail(404, `epoch ${epoch} has no allocation ${number}`);
  const { allocation, points, wallets, leaves, total, undistributed, root } = chosen;
  const header = { epoch, source, formulaVersion, pool, cap, dust, allocation, points, wallets, leaves, total, undistributed, root };
  async function* lines(): AsyncGenerator<string> {
    yield `${JSON.stringify(header)}\n`;
    for (let next = 0; ; ) {
      const page = (await app.db.query(selectLines, [epoch, next, allocation]))[0];
      if (!page) return;
      yield `${page.lines}\n`;
      next = page.next;
    }
  }
  return {
    etag: `"leaves-${allocation}-${root ?? 'none'}-${wallets}"`,
    mayChange: mayChange(found),
    open: () => Readable.from(lines(), { objectMode: false, highWaterMark: 1 }),
  };
}
