import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';

/**
 * Sends a response's head and takes its connection away from node:http, for a body that goes on for minutes: request, response and
 * parser would occupy several times what the socket does, and cut the body into chunks. What is written to the socket is the body
 * as it is, and ends with the connection. What the client still sends is thrown away; when it ends, the socket closes.
 * @returns the socket; null when there is nobody to send a body to
 */
export async function detachSocket(response: ServerResponse): Promise<Socket | null> {
  const { req: request, socket } = response;
  if (socket === null) {
    // Sent ahead, while an earlier request is answered: when its turn comes, the connection ends and the client asks again.
    response.once('socket', (late: Socket) => late.destroy());
    return null;
  }
  response.setHeader('Connection', 'close');
  response.removeHeader('Transfer-Encoding');
  response.flushHeaders();
  // A request that has not ended would take the socket with it.
  const isWhole = await finished(request.resume()).then(
    () => true,
    () => false,
  );
  if (!isWhole || !socket.writable) return null;
  // To node:http the connection is over: it frees the parser, lets go of the request, and destroys a socket on which more requests came.
  socket.emit('close');
  response.detachSocket(socket);
  socket.removeAllListeners().setTimeout(0).on('error', ignore).on('end', destroy);
  return socket.writable ? socket.resume() : null;
}

function ignore(): void {}

function destroy(this: Socket): void {
  this.destroy();
}
