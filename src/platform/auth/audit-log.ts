import { Readable } from 'node:stream';
import { type InferResult, sql } from 'kysely';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { auditHash } from './admin-tokens.ts';
import { AdminAuditTable } from './entities.ts';

const build = queryBuilder([AdminAuditTable]);
const hex = (column: string) => sql<string>`encode(${sql.ref(column)}, 'hex')`;

/** Selects rows of the audit log. Hashes are hex. `at` is the text of the time that the hash contains, ISO 8601 in UTC with microseconds. */
const selectEntries = build
  .selectFrom('admin_audit')
  .select([
    'id',
    sql<string>`to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`.as('at'),
    'token_name as tokenName',
    'method',
    'path',
    hex('body_hash').as('bodyHash'),
    hex('previous_hash').as('previousHash'),
    hex('hash').as('hash'),
  ]);
type AdminAuditEntry = InferResult<typeof selectEntries>[number];

/** Returns an entry with the time format of all responses: `at` has milliseconds. */
const inMilliseconds = (row: AdminAuditEntry): AdminAuditEntry => ({ ...row, at: new Date(row.at).toISOString() });

/**
 * Returns a page of the audit log, newest row first, and the total number of rows. The total is the highest id, because ids have no gaps. `at` has
 * milliseconds.
 */
export async function listAdminAudit(db: Queryable, limit: number, offset: number): Promise<{ entries: AdminAuditEntry[]; total: number }> {
  const total = await readNewestId(db);
  const page = selectEntries.where('id', '<=', String(total - offset));
  const rows = await run(db, page.orderBy('id', 'desc').limit(limit));
  return { entries: rows.map(inMilliseconds), total };
}

/** Rows per query when the whole log is read. */
const CHUNK = 1_000;

/**
 * Returns the audit log as NDJSON, oldest row first. The file ends with the row that is the newest one when the file begins. Each page is queried only when the reader needs it.
 * @param after id of the row after which the file begins; 0 for the whole log
 */
export async function exportAdminAudit(db: Queryable, after: number): Promise<Readable> {
  const newest = await readNewestId(db);
  async function* lines(): AsyncGenerator<string> {
    for (let last = after; last < newest; ) {
      const rows = await run(db, selectEntries.where('id', '>', String(last)).where('id', '<=', String(newest)).orderBy('id').limit(CHUNK));
      if (rows.length === 0) return;
      yield rows.map((row) => `${JSON.stringify(inMilliseconds(row))}\n`).join('');
      last = Number(rows.at(-1)?.id);
    }
  }
  return Readable.from(lines(), { objectMode: false, highWaterMark: 1 });
}

async function readNewestId(db: Queryable): Promise<number> {
  const [newest] = await run(
    db,
    build.selectFrom('admin_audit').select(({ fn }) => fn.max<string | null>('id').as('id')),
  );
  return Number(newest?.id ?? 0);
}

/**
 * Verifies the hash chain of the audit log from its first row. This cannot detect that the newest rows were deleted. To detect a deletion, compare
 * the returned hash with a copy of the last hash that is stored elsewhere.
 * @returns the number of rows before the first invalid row, the hash of the last of these rows, and in `fault` a sentence about the invalid row;
 * `fault` is null when all rows are valid
 */
export async function verifyAdminAudit(db: Queryable): Promise<{ entries: number; hash: string; fault: string | null }> {
  let last = 0;
  let previous = '';
  for (;;) {
    const entries = await run(db, selectEntries.where('id', '>', String(last)).orderBy('id').limit(CHUNK));
    for (const entry of entries) {
      const fault = faultOf(entry, String(last + 1), previous);
      if (fault !== null) return { entries: last, hash: previous, fault };
      last += 1;
      previous = entry.hash;
    }
    if (entries.length < CHUNK) return { entries: last, hash: previous, fault: null };
  }
}

function faultOf(entry: AdminAuditEntry, expected: string, previous: string): string | null {
  if (entry.id !== expected) return `entry ${expected} is missing`;
  if (entry.previousHash !== previous) return `entry ${entry.id} does not contain the hash of the previous entry`;
  const action = { ...entry, bodyHash: Buffer.from(entry.bodyHash, 'hex') };
  const hash = auditHash(Buffer.from(previous, 'hex'), entry.id, entry.at, action).toString('hex');
  return entry.hash === hash ? null : `entry ${entry.id} does not match its hash`;
}
