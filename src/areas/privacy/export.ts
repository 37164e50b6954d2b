import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type Koa from 'koa';
import { unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { enforceRateLimit } from '#platform/auth/rate-limit.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { StreamBody } from '#platform/http/route.ts';
import { EXPORTED, type ExportedTable } from './exported.ts';

/** Maximum exports of a wallet per hour. */
export const EXPORTS_PER_HOUR = 3;
/** Maximum concurrent exports of this process. */
const MAX_CONCURRENT = 4;
/** Rows that are in memory at once. */
const ROWS_PER_PAGE = 500;
/** Maximum time in which a client reads nothing before the service aborts its download, ms. */
const READ_TIMEOUT_MS = 120_000;

const running = perApp(() => ({ exports: 0 }));

const selectInstants = statement<{ table: string; column: string }>(
  'select_instant_columns',
  `select c.relname::text as "table", a.attname::text as "column" from pg_attribute a join pg_class c on c.oid = a.attrelid
   where c.relnamespace = 'public'::regnamespace and c.relname = any($1::text[]) and a.atttypid = 'timestamptz'::regtype and not a.attisdropped`,
);

/** Returns the SQL of a line of the export. Times have the format of all responses, which `to_jsonb` alone does not give them. */
function lineOf({ table, without = [] }: ExportedTable, instants: readonly string[]): string {
  const times = instants.map((column) => `'${column}', ${instant(`t.${column}`)}`).join(', ');
  const omitted = without.map((column) => `'${column}'`).join(', ');
  return `json_build_object('table', '${table}', 'row', (to_jsonb(t) || jsonb_build_object(${times})) - array[${omitted}]::text[])::text`;
}

/** Yields the lines of an export: one JSON object per row. Reads each table through a cursor, so that a wallet with many rows needs no more memory. */
async function* linesOf(tx: Tx, wallet: string): AsyncGenerator<Buffer> {
  const instants = Map.groupBy(await tx.query(selectInstants, [EXPORTED.map(({ table }) => table)]), ({ table }) => table);
  for (const exported of EXPORTED) {
    const columns = instants.get(exported.table) ?? [];
    const line = lineOf(
      exported,
      columns.map(({ column }) => column),
    );
    await tx.query({ text: `declare exported no scroll cursor for select ${line} as line from ${exported.rows}` }, [wallet]);
    for (;;) {
      const page = await tx.query<{ line: string }>({ text: `fetch ${ROWS_PER_PAGE} from exported` });
      if (page.length > 0) yield Buffer.from(page.map((row) => `${row.line}\n`).join(''));
      if (page.length < ROWS_PER_PAGE) break;
    }
    await tx.query({ text: 'close exported' });
  }
}

/**
 * Exports all rows about a wallet as NDJSON. Writes them to a temporary file first, so that a slow client holds no transaction open.
 * @returns a function that sends the file
 * @throws 429 above `EXPORTS_PER_HOUR`; 503 when the process writes `MAX_CONCURRENT` exports already
 */
export async function exportWallet(app: App, ctx: Koa.Context, wallet: string): Promise<StreamBody> {
  if (ctx.method === 'HEAD') return () => undefined;
  const state = app.state(running);
  if (state.exports >= MAX_CONCURRENT) throw unavailable('too many exports are being written; try again', 10);
  state.exports += 1;
  try {
    await enforceRateLimit(app, { name: 'export', max: EXPORTS_PER_HOUR, windowMs: 3_600_000 }, wallet);
    const draft = await app.storage.draft();
    try {
      await app.tx((tx) => draft.fill(linesOf(tx, wallet), Number.POSITIVE_INFINITY, () => undefined));
    } catch (error) {
      await draft.close();
      throw error;
    }
    return async (response: ServerResponse) => {
      response.setTimeout(READ_TIMEOUT_MS, () => response.destroy());
      // A client that disconnects makes the pipeline fail, which needs no log.
      await pipeline(draft.read(), response).catch(() => undefined);
      await draft.close();
    };
  } finally {
    state.exports -= 1;
  }
}
