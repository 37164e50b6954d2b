import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';

/**
 * Sends the headers of a response and detaches its socket from node:http, so that node:http frees the request, the response and the parser. These
 * objects take several times the memory of the socket, which matters for event streams that last for minutes. After that, the caller writes the
 * response body to the socket; closing the connection ends the body. Bytes from the client are discarded, and the socket is closed when the client
 * closes its side.
 * @returns the socket; null when the client has disconnected or the request is pipelined
 */
export async function detachSocket(response: ServerResponse): Promise<Socket | null> {
  const { req: request, socket } = response;
  if (socket === null) {
    // A pipelined request gets its socket only after the responses to earlier requests. This listener then closes the connection, so that the client
    // retries.
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
  // Tells node:http that the connection has closed. node:http then frees the parser and the request, and destroys the socket if more requests were
  // pipelined.
  socket.emit('close');
  response.detachSocket(socket);
  socket.removeAllListeners().setTimeout(0).on('error', ignore).on('end', destroy);
  return socket.writable ? socket.resume() : null;
}

function ignore(): void {}

function destroy(this: Socket): void {
  this.destroy();
}
