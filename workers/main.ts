import { readConfig } from '#config';
import { JOB_TIMEOUTS, openContext } from '#context';
import { startOperations } from '#platform/observability/health.ts';
import { startTracing } from '#platform/observability/tracing/tracing.ts';
import { stopOnSignal } from '#platform/shutdown.ts';
import { publishEvents } from './publish-events.ts';
import { serveQueues } from './worker-pool.ts';

/** A worker process: serves its queues and publishes events until it is told to stop. */
const app = await openContext(readConfig(), 'worker', { timeouts: JOB_TIMEOUTS });
const tracing = await startTracing(app.config, 'worker', app.log);
const operations = await startOperations(app);
const fleet = await serveQueues(app, app.config.queues);
const publisher = publishEvents(app);

stopOnSignal(app.log, async () => {
  await Promise.all([fleet.close(), publisher.close()]);
  await operations.close();
  await app.close();
  await tracing.close();
});
app.log.info('worker is ready');
