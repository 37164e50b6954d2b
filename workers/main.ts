import { readConfig } from '../src/config.ts';
import { JOB_PATIENCE, openContext } from '../src/context.ts';
import { startOperations } from '../src/http/operations.ts';
import { stopOnSignal } from '../src/stop.ts';
import { startTracing } from '../src/tracing/tracing.ts';
import { publishEvents } from './publish-events.ts';
import { serveQueues } from './run.ts';

/** A worker process: serves its queues and publishes events until it is told to stop. */
const app = await openContext(readConfig(), 'worker', { patience: JOB_PATIENCE });
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
