import { type Queryable, statement } from '#platform/db/sql.ts';
import { type AdminAction, auditHash } from './admin-tokens.ts';

/** A row of the audit log. Its hashes are hex. */
export interface AdminAuditEntry extends Omit<AdminAction, 'bodyHash'> {
  id: string;
  /** Time of the request, ISO 8601 in UTC with microseconds. */
  at: string;
  bodyHash: string;
  previousHash: string;
  hash: string;
}

const COLUMNS = `id::text, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, token_name as "tokenName", method, path,
  encode(body_hash, 'hex') as "bodyHash", encode(previous_hash, 'hex') as "previousHash", encode(hash, 'hex') as hash`;
const countEntries = statement<{ n: number }>('count_audit_entries', 'select coalesce(max(id), 0)::float8 as n from admin_audit');
const selectNewest = statement<AdminAuditEntry>(
  'select_audit_entries',
  `select ${COLUMNS} from admin_audit where id <= $1 order by admin_audit.id desc limit $2`,
);
const selectFrom = statement<AdminAuditEntry>(
  'select_audit_chain',
  `select ${COLUMNS} from admin_audit where id > $1 order by admin_audit.id limit $2`,
);

/** Returns a page of the audit log, newest row first, and the total number of rows. The total is the highest id, because ids have no gaps. */
export async function listAdminAudit(db: Queryable, limit: number, offset: number): Promise<{ entries: AdminAuditEntry[]; total: number }> {
  const total = (await db.query(countEntries))[0]?.n ?? 0;
  return { entries: await db.query(selectNewest, [total - offset, limit]), total };
}

/** Rows that `verifyAdminAudit` reads per query. */
const CHUNK = 1_000;

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
    const entries = await db.query(selectFrom, [last, CHUNK]);
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
