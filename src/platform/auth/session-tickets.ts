import { hash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { originOf } from './origin.ts';
import { bytesOfKey } from './session-record.ts';
import { SessionStore } from './session-store.ts';
import type { SocketSession } from './sessions.ts';

const insertTicket = statement<{ expiresAt: number }>(
  'insert_session_ticket',
  `insert into session_tickets (key, session_key, expires_at) select $1, $2, date_trunc('milliseconds', app_now()) + interval '30 seconds'
   returning (extract(epoch from expires_at) * 1000)::float8 as "expiresAt"`,
);
// PostgreSQL deletes a row once, so of several concurrent requests only one gets the session.
const takeTicket = statement<{ sessionKey: Buffer; valid: boolean }>(
  'take_session_ticket',
  'delete from session_tickets where key = $1 returning session_key as "sessionKey", expires_at > (select app_now()) as valid',
);

/** Returns the key of a ticket: its hash, so that a reader of the table cannot use the ticket. */
const keyOf = (ticket: string): Buffer => hash('sha256', `ticket ${ticket}`, 'buffer');

/**
 * Creates a ticket, with which one WebSocket can be opened for a session within 30 s. A page cannot send headers with a WebSocket, so it sends the ticket
 * in the URL. Precondition: the session is not restricted.
 * @param sessionKey key of the session; see `sessionKeyOf`
 * @returns the secret ticket, and the time at which it expires, ms since 1970
 */
export async function createTicket(app: App, sessionKey: string): Promise<{ ticket: string; expiresAt: number }> {
  const ticket = randomBytes(32).toString('base64url');
  const [row] = await app.tx((tx) => tx.query(insertTicket, [keyOf(ticket), bytesOfKey(sessionKey)]));
  if (!row) throw new Error('the insert of a ticket returned no row');
  return { ticket, expiresAt: row.expiresAt };
}

/**
 * Returns the session of a ticket and deletes the ticket; null when the ticket is unknown, used or expired, when its session has ended, or when the
 * session is bound to another origin than that of the request.
 */
export async function useTicket(app: App, ticket: string, headers: IncomingHttpHeaders): Promise<SocketSession | null> {
  const [row] = await app.tx((tx) => tx.query(takeTicket, [keyOf(ticket)]));
  if (!row?.valid) return null;
  const sessionKey = row.sessionKey.toString('base64url');
  const session = await new SessionStore(app).findByKey(sessionKey);
  if (session === null || (session.origin !== null && session.origin !== originOf(app.config, headers))) return null;
  return { wallet: session.wallet, sessionKey };
}
