import { createApp } from './app.ts';
import { attachVerification } from './areas/arcade/index.ts';
import { readConfig } from './config.ts';
import { openContext } from './context.ts';
import { drainStreams } from './platform/events/sse.ts';
import { openServer } from './platform/http/server.ts';
import { startOperations } from './platform/observability/health.ts';
import { startTracing } from './platform/observability/tracing/tracing.ts';
import { GRACE_MS, stopOnSignal } from './platform/shutdown.ts';

/** Connections that may wait to be accepted: when another process goes, thousands of streams come at once. Who finds no room tries again seconds later. */
const BACKLOG = 4_096;

/** The HTTP process: configuration → context → application → listen → graceful stop. */
const app = await openContext(readConfig(), 'api');
const tracing = await startTracing(app.config, 'api', app.log);
const operations = await startOperations(app);
const koa = createApp(app);
const server = openServer(koa);
const verification = attachVerification(server, app, koa);
server.listen({ port: app.config.port, host: app.config.host, backlog: BACKLOG }, () => app.log.info({ address: server.address() }, 'api is ready'));

stopOnSignal(app.log, async () => {
  await drainStreams(app);
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection that was busy a moment ago would be kept alive for another minute.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  // Uploads and videos on their way may take longer than a process has to stop: they are begun again, videos where they were.
  const cut = setTimeout(() => server.closeAllConnections(), GRACE_MS - 3_000);
  await verification.close();
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
  await operations.close();
  await app.close();
  await tracing.close();
});
