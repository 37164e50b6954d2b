import type { App } from '#platform/app.ts';
import { SessionStore } from '#platform/auth/session-store.ts';

/**
 * Ends all sessions of a wallet in all processes. Call it after the commit of a ban: a sign-in locks the player's row, so it either created its
 * session before the ban or is refused.
 * @throws when Redis or the database is down; then some sessions may still be valid, and the caller must retry
 */
export async function endSessions(app: App, wallet: string): Promise<void> {
  await new SessionStore(app).endAll(wallet);
}
