/** The public API of auth: ending all sessions of a wallet, and the purge of expired rows. */
export { endSessions } from './end-sessions.ts';
export { purgeExpiredAuth } from './purge-expired.ts';
