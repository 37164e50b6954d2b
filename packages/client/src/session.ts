import { type Client, ok } from './client.ts';

/**
 * Ends the session of the client, with its event streams and WebSockets, and removes its session token.
 * @throws ApiError when the service cannot end the session; a session that has ended already is no error
 */
export async function signOut(client: Client): Promise<void> {
  const response = await client.post('/auth/logout');
  if (!response.ok && response.status !== 401) await ok(response);
  client.tokenStore.set(null);
}

/**
 * Returns the URL of a WebSocket, such as `heartbeatUrl` of a play, with a ticket for the session of the client. A ticket opens one WebSocket within 30 s,
 * so call this function for each connection.
 * @throws ApiError when the client has no session
 */
export async function withTicket(client: Client, url: string): Promise<string> {
  const { body } = await ok(client.post('/auth/ticket'));
  const target = new URL(url);
  target.searchParams.set('ticket', body.ticket);
  return target.href;
}
