import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Maximum rows that one call deletes per table. */
const MAX_BATCH_SIZE = 5_000;

const purgeStatement = (name: string, table: 'nonces' | 'sessions' | 'session_tickets', key: string) =>
  statement<{ count: number }>(
    name,
    `with deleted as (
       delete from ${table} where ${key} in (
         select ${key} from ${table} where expires_at <= (select app_now()) order by expires_at limit ${MAX_BATCH_SIZE} for update skip locked)
       returning 1)
     select count(*)::int as count from deleted`,
  );
const deleteExpiredNonces = purgeStatement('delete_expired_nonces', 'nonces', 'nonce');
const deleteExpiredSessions = purgeStatement('delete_expired_sessions', 'sessions', 'key');
const deleteExpiredTickets = purgeStatement('delete_expired_session_tickets', 'session_tickets', 'key');

/**
 * Deletes expired nonces, sessions and tickets, one batch of each. The deletion only saves space, because other queries ignore expired rows.
 * @returns the numbers of deleted rows, and whether more expired rows may exist
 */
export async function purgeExpiredAuth(tx: Tx): Promise<{ nonces: number; sessions: number; tickets: number; more: boolean }> {
  const [nonces] = await tx.query(deleteExpiredNonces);
  const [sessions] = await tx.query(deleteExpiredSessions);
  const [tickets] = await tx.query(deleteExpiredTickets);
  const deleted = { nonces: nonces?.count ?? 0, sessions: sessions?.count ?? 0, tickets: tickets?.count ?? 0 };
  return { ...deleted, more: Object.values(deleted).includes(MAX_BATCH_SIZE) };
}
