import { reportDraws } from '#areas/lottery';
import { readConfig } from '#config';
import { JOB_TIMEOUTS, openContext } from '#context';
import { startHealthServer } from '#platform/observability/health.ts';
import { startTracing } from '#platform/observability/tracing/tracing.ts';
import { shutDownOnSignal } from '#platform/shutdown.ts';
import { publishEvents } from './publish-events.ts';
import { serveQueues } from './worker-pool.ts';

/** The entry point of a worker process. The process serves its queues and publishes events until it receives a stop signal. */
const app = await openContext(readConfig(), 'worker', { timeouts: JOB_TIMEOUTS });
const tracing = await startTracing(app.config, 'worker', app.log);
const operations = await startHealthServer(app);
reportDraws(app);
const fleet = await serveQueues(app, app.config.queues);
const publisher = publishEvents(app);

shutDownOnSignal(app.log, async () => {
  await Promise.all([fleet.close(), publisher.close()]);
  await operations.close();
  await app.close();
  await tracing.close();
});
app.log.info('worker is ready');
