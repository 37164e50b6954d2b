import { createServer } from 'node:http';
import { createApp } from './app.ts';
import { readConfig } from './config.ts';
import { openContext } from './context.ts';
import { stopOnSignal } from './stop.ts';

/** The HTTP process: configuration → context → application → listen → graceful stop. */
const app = await openContext(readConfig(), 'api');
const server = createServer(createApp(app).callback());
server.headersTimeout = 15_000;
server.requestTimeout = 30_000;
server.keepAliveTimeout = 65_000;
server.maxRequestsPerSocket = 0;
server.listen(app.config.port, app.config.host, () => app.log.info({ address: server.address() }, 'api is ready'));

stopOnSignal(app.log, async () => {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  await closed;
  await app.close();
});
