import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as yieldToOthers } from 'node:timers/promises';
import { TICK_MS } from '#platform/events/outbox.ts';

/**
 * This process writes a stream to raw sockets, with the interval of the publisher, and without HTTP, sessions, PostgreSQL and Redis. Its latency is the
 * limit of an event stream in Node.js on the measured machine: it consists of the interval, the system calls of the writes, and the reads of the subscribers.
 */

/** Number of sockets that are written before the process receives further messages. */
const SLICE = 200;

const open = new Set<Socket>();
let waiting: string[] = [];
let id = 0;

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => undefined);
  socket.on('close', () => open.delete(socket));
  // The first bytes are the request.
  socket.once('data', () => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: live\n\n');
    open.add(socket);
  });
});
process.on('message', (text: string) => waiting.push(`id: ${++id}\nevent: notification\ndata: ${text}\n\n`));
process.on('disconnect', () => process.exit());
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => process.send?.(server.address()));

for (;;) {
  const began = performance.now();
  const bytes = Buffer.from(waiting.join(''));
  waiting = [];
  let written = 0;
  for (const socket of bytes.length === 0 ? [] : open) {
    socket.write(bytes);
    if (++written % SLICE === 0) await yieldToOthers();
  }
  await sleep(Math.max(0, TICK_MS - (performance.now() - began)));
}
