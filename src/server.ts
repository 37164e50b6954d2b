import { createApp } from './app.ts';
import { attachSessionServer } from './areas/arcade/index.ts';
import { readConfig } from './config.ts';
import { openContext } from './context.ts';
import { reportAtStart } from './doctor/at-start.ts';
import { drainStreams } from './platform/events/sse.ts';
import { closeServer, openServer } from './platform/http/server.ts';
import { startHealthServer } from './platform/observability/health.ts';
import { startTracing } from './platform/observability/tracing/tracing.ts';
import { SHUTDOWN_TIMEOUT_MS, shutDownOnSignal } from './platform/shutdown.ts';

/** Maximum connections that wait to be accepted. It is high because thousands of event streams reconnect at once when another process stops. */
const BACKLOG = 4_096;

const app = await openContext(readConfig(), 'api');
const tracing = await startTracing(app.config, 'api', app.log);
const health = await startHealthServer(app);
const koa = createApp(app);
const server = openServer(koa);
const verification = attachSessionServer(server, app, koa);
server.listen({ port: app.config.port, host: app.config.host, backlog: BACKLOG }, () => {
  app.log.info({ address: server.address() }, 'api is ready');
  reportAtStart(app, 'api');
});

shutDownOnSignal(app.log, async (begin) => {
  begin('event streams');
  await drainStreams(app);
  // Closes all connections shortly before the shutdown times out, because uploads and downloads may take longer. Clients restart uploads and resume
  // videos.
  const closed = closeServer(server, SHUTDOWN_TIMEOUT_MS - 3_000);
  begin('sessions of plays');
  await verification.close();
  begin('HTTP connections');
  await closed;
  begin('health checks');
  await health.close();
  begin('PostgreSQL, Redis and the media storage');
  await app.close();
  begin('tracing');
  await tracing.close();
});
