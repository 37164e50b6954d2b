/** The public API of auth: ending sessions of a wallet, and the purge of expired rows. */
export { endSessions, endSessionsUntil } from './end-sessions.ts';
export { purgeExpiredAuth } from './purge-expired.ts';
