import { type Queryable, statement } from '#platform/db/sql.ts';
import { type AuditedAction, auditHash } from './admin-tokens.ts';

/** An admin action as it was written down; hashes in hex. */
export interface AuditEntry extends Omit<AuditedAction, 'bodyHash'> {
  id: string;
  /** ISO 8601 in UTC, with microseconds. */
  at: string;
  bodyHash: string;
  previousHash: string;
  hash: string;
}

const COLUMNS = `id::text, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, token_name as "tokenName", method, path,
  encode(body_hash, 'hex') as "bodyHash", encode(previous_hash, 'hex') as "previousHash", encode(hash, 'hex') as hash`;
const countEntries = statement<{ n: number }>('count_audit_entries', 'select coalesce(max(id), 0)::float8 as n from admin_audit');
const selectNewest = statement<AuditEntry>(
  'select_audit_entries',
  `select ${COLUMNS} from admin_audit where id <= $1 order by admin_audit.id desc limit $2`,
);
const selectFrom = statement<AuditEntry>('select_audit_chain', `select ${COLUMNS} from admin_audit where id > $1 order by admin_audit.id limit $2`);

/** Admin actions newest first, and how many there are: their ids have no gaps. */
export async function listAudit(db: Queryable, limit: number, offset: number): Promise<{ entries: AuditEntry[]; total: number }> {
  const total = (await db.query(countEntries))[0]?.n ?? 0;
  return { entries: await db.query(selectNewest, [total - offset, limit]), total };
}

/** Entries that are read at once. */
const CHUNK = 1_000;

/**
 * Computes the chain of admin actions again, from the first one on. That its end was not cut off only a hash kept elsewhere can tell.
 * @returns how many entries hold, the last one's hash, and what is wrong with the one after them, if any
 */
export async function checkAudit(db: Queryable): Promise<{ entries: number; hash: string; fault: string | null }> {
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

function faultOf(entry: AuditEntry, expected: string, previous: string): string | null {
  if (entry.id !== expected) return `entry ${expected} is missing`;
  if (entry.previousHash !== previous) return `entry ${entry.id} does not follow the one before`;
  const action = { ...entry, bodyHash: Buffer.from(entry.bodyHash, 'hex') };
  const hash = auditHash(Buffer.from(previous, 'hex'), entry.id, entry.at, action).toString('hex');
  return entry.hash === hash ? null : `entry ${entry.id} is not what its hash says`;
}
