import { createServer } from 'node:http';
import { createApp } from './app.ts';
import { attachVerification } from './areas/arcade/arcade.ts';
import { readConfig } from './config.ts';
import { openContext } from './context.ts';
import { drainStreams } from './events/stream.ts';
import { startOperations } from './http/operations.ts';
import { stopOnSignal } from './stop.ts';

/** The HTTP process: configuration → context → application → listen → graceful stop. */
const app = await openContext(readConfig(), 'api');
const operations = await startOperations(app);
const koa = createApp(app);
const server = createServer(koa.callback());
const verification = attachVerification(server, app, koa);
server.headersTimeout = 15_000;
server.requestTimeout = 120_000;
server.keepAliveTimeout = 65_000;
server.maxRequestsPerSocket = 0;
server.listen(app.config.port, app.config.host, () => app.log.info({ address: server.address() }, 'api is ready'));

stopOnSignal(app.log, async () => {
  await drainStreams(app);
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection that was busy a moment ago would be kept alive for another minute.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  await verification.close();
  await closed;
  clearInterval(idle);
  await operations.close();
  await app.close();
});
