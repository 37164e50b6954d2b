import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';

/**
 * Sends a response's headers and detaches its socket from node:http, for event streams that last for minutes. The request, the response and the parser would
 * take several times the memory of the socket. Bytes written to the socket are the body; the body ends when the connection closes. Further bytes from the
 * client are discarded, and the socket closes when the client ends it.
 * @returns the socket; null when the client has disconnected
 */
export async function detachSocket(response: ServerResponse): Promise<Socket | null> {
  const { req: request, socket } = response;
  if (socket === null) {
    // A pipelined request has no socket while an earlier request is in progress. The connection is closed at its turn, so that the client retries.
    response.once('socket', (late: Socket) => late.destroy());
    return null;
  }
  response.setHeader('Connection', 'close');
  response.removeHeader('Transfer-Encoding');
  response.flushHeaders();
  // Reads the request to its end, because node:http destroys the socket of an incomplete request.
  const isWhole = await finished(request.resume()).then(
    () => true,
    () => false,
  );
  if (!isWhole || !socket.writable) return null;
  // Tells node:http that the connection has closed. It then frees the parser and the request, and destroys the socket if more requests were pipelined.
  socket.emit('close');
  response.detachSocket(socket);
  socket.removeAllListeners().setTimeout(0).on('error', ignore).on('end', destroy);
  return socket.writable ? socket.resume() : null;
}

function ignore(): void {}

function destroy(this: Socket): void {
  this.destroy();
}
