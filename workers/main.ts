import { readConfig } from '#config';
import { JOB_TIMEOUTS, openContext } from '#context';
import { reportAtStart } from '#doctor/at-start.ts';
import { untilMigrated } from '#platform/db/applied-migrations.ts';
import { startHealthServer } from '#platform/observability/health.ts';
import { startTracing } from '#platform/observability/tracing/tracing.ts';
import { shutDownOnSignal } from '#platform/shutdown.ts';
import { publishEvents } from './publish-events.ts';
import { serveQueues } from './worker-pool.ts';

/**
 * The entry point of a worker process. When the database has every migration of this release, the process serves its queues and publishes events until
 * it receives a stop signal.
 */
const app = await openContext(readConfig(), 'worker', { timeouts: JOB_TIMEOUTS });
const tracing = await startTracing(app.config, 'worker', app.log);
const operations = await startHealthServer(app);
reportAtStart(app, 'worker');

const stopping = new AbortController();
const parts: { close(): Promise<void> }[] = [];
shutDownOnSignal(app.log, async (begin) => {
  stopping.abort();
  begin('queues and the publisher');
  await Promise.all(parts.map((part) => part.close()));
  begin('health checks');
  await operations.close();
  begin('PostgreSQL, Redis and the media storage');
  await app.close();
  begin('tracing');
  await tracing.close();
});

await untilMigrated(app, stopping.signal).catch(() => undefined);
if (!stopping.signal.aborted) {
  parts.push(await serveQueues(app, app.config.queues), publishEvents(app));
  app.log.info('worker is ready');
}
