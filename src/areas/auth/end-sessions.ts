import type { App } from '#platform/app.ts';
import { SessionStore } from '#platform/auth/session-store.ts';
import { statement } from '#platform/db/sql.ts';

/**
 * Ends all sessions of a wallet in all processes. Precondition: the ban of the wallet is committed. A sign-in locks the player's row, so a concurrent
 * sign-in either created its session before the ban, and this function ends the session, or the new session is restricted.
 * @throws when Redis or the database is down; then some sessions may still be valid, and the caller must retry
 */
export async function endSessions(app: App, wallet: string): Promise<void> {
  await new SessionStore(app).endAll(wallet);
}

const selectSessions = statement<{ id: string }>(
  'select_sessions_until',
  `select encode(key, 'hex') as id from sessions where wallet = $1 and created_at <= $2::timestamptz limit 500`,
);

/** Ends the sessions of a wallet that are not newer than `until`, in all processes. @throws when Redis or the database is down */
export async function endSessionsUntil(app: App, wallet: string, until: string): Promise<void> {
  const store = new SessionStore(app);
  for (;;) {
    const sessions = await app.db.query(selectSessions, [wallet, until]);
    if (sessions.length === 0) return;
    for (const { id } of sessions) await store.endListed(wallet, id);
  }
}
