import { sql } from 'kysely';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { SessionsTable } from './entities.ts';
import { bytesOfKey, type Transport } from './session-record.ts';

const build = queryBuilder([SessionsTable]);

/** A session as its wallet sees it. */
interface ListedSession {
  /** Key of the session, hex. */
  readonly id: string;
  readonly createdAt: string;
  readonly lastExtendedAt: string;
  readonly expiresAt: string;
  readonly transport: Transport;
  readonly origin: string | null;
}

/** Returns the id of a session that its wallet sees: its key, in hex. */
export const listedIdOf = (key: string): string => bytesOfKey(key).toString('hex');

/** Reads a page of the valid sessions of a wallet, newest first, and the number of all of them. */
export async function listSessions(
  db: Queryable,
  wallet: string,
  limit: number,
  offset: number,
): Promise<{ sessions: ListedSession[]; total: number }> {
  const valid = build.selectFrom('sessions').where('wallet', '=', wallet).where('expires_at', '>', sql<string>`(select app_now())`);
  const page = valid
    .select([
      sql<string>`encode(key, 'hex')`.as('id'),
      isoInstant('created_at').as('createdAt'),
      isoInstant('extended_at').as('lastExtendedAt'),
      isoInstant('expires_at').as('expiresAt'),
      'transport',
      'origin',
    ])
    .orderBy('created_at', 'desc')
    .orderBy('key')
    .limit(limit)
    .offset(offset);
  const [sessions, [count]] = await Promise.all([run(db, page), run(db, valid.select(sql<number>`count(*)::int`.as('n')))]);
  return { sessions, total: count?.n ?? 0 };
}
