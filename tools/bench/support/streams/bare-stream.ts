import { createServer, type ServerResponse } from 'node:http';

/** This process is a minimal server of Server-Sent Events with node:http, for comparison. It writes each message to all open responses at once. */

const open = new Set<ServerResponse>();
let id = 0;

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', Connection: 'close' });
  response.write(': live\n\n');
  open.add(response);
  response.on('close', () => open.delete(response));
});
process.on('message', (text: string) => {
  const message = Buffer.from(`id: ${++id}\nevent: notification\ndata: ${text}\n\n`);
  for (const response of open) response.write(message);
});
process.on('disconnect', () => process.exit());
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => process.send?.(server.address()));
