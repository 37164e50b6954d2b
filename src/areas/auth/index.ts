import type { App } from '#platform/app.ts';
import { SessionStore } from '#platform/auth/session-store.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** How many rows one call removes from each table, at most. */
const BATCH = 5_000;

const expired = (name: string, table: 'nonces' | 'sessions', key: string) =>
  statement<{ count: number }>(
    name,
    `with gone as (
       delete from ${table} where ${key} in (
         select ${key} from ${table} where expires_at <= app_now() order by expires_at limit ${BATCH} for update skip locked)
       returning 1)
     select count(*)::int as count from gone`,
  );
const deleteExpiredNonces = expired('delete_expired_nonces', 'nonces', 'nonce');
const deleteExpiredSessions = expired('delete_expired_sessions', 'sessions', 'key');

/**
 * Removes expired nonces and sessions, a bounded batch of each. Nothing depends on it: what has expired is refused anyway.
 * @returns how many rows went; call again while `more`
 */
export async function expireAuth(tx: Tx): Promise<{ nonces: number; sessions: number; more: boolean }> {
  const [nonces] = await tx.query(deleteExpiredNonces);
  const [sessions] = await tx.query(deleteExpiredSessions);
  const gone = { nonces: nonces?.count ?? 0, sessions: sessions?.count ?? 0 };
  return { ...gone, more: gone.nonces === BATCH || gone.sessions === BATCH };
}

/**
 * Ends all sessions of a wallet, everywhere at once. Call it after the commit that bans: signing in holds the player's row,
 * so a session is either here by then or refused.
 * @throws when Redis or the record is down; sessions may then live on, call again
 */
export async function endSessions(app: App, wallet: string): Promise<void> {
  await new SessionStore(app).endAll(wallet);
}
