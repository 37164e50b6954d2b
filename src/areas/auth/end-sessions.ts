import type { App } from '#platform/app.ts';
import { SessionStore } from '#platform/auth/session-store.ts';

/**
 * Ends all sessions of a wallet in all processes. Precondition: the ban of the wallet is committed. A sign-in locks the player's row, so a concurrent
 * sign-in either created its session before the ban, and this function ends the session, or the ban rejects the sign-in.
 * @throws when Redis or the database is down; then some sessions may still be valid, and the caller must retry
 */
export async function endSessions(app: App, wallet: string): Promise<void> {
  await new SessionStore(app).endAll(wallet);
}
