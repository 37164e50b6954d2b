import { collectDefaultMetrics } from 'prom-client';
import type { App, GaugeReader } from '#platform/app.ts';
import { streamsOf } from '#platform/events/sse.ts';
import { databaseGauges } from './database-gauges.ts';
import { cachedReader, formatGauges } from './gauge-reader.ts';
import { registry } from './metrics.ts';
import { queueGauges } from './queue-gauges.ts';

/** Gauges of this process alone. */
const processGauges: GaugeReader = {
  cacheMs: 0,
  gauges: {
    coinop_sql_connections:
      'PostgreSQL connections of this process by state: idle, busy; and waiting, the requests and jobs that wait for a connection.',
    coinop_sql_connections_max: 'Maximum PostgreSQL connections of this process.',
    coinop_sse_subscribers: 'Event streams that are open in this process.',
    coinop_sse_anonymous_subscribers: 'Event streams without a session that are open in this process.',
  },
  async read(app) {
    const pool = await app.orm.em.getConnection().getNativeClient();
    return [
      { name: 'coinop_sql_connections', labels: { state: 'idle' }, value: pool.idleCount },
      { name: 'coinop_sql_connections', labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
      { name: 'coinop_sql_connections', labels: { state: 'waiting' }, value: pool.waitingCount },
      { name: 'coinop_sql_connections_max', value: app.config.database.pool },
      { name: 'coinop_sse_subscribers', value: streamsOf(app).size },
      { name: 'coinop_sse_anonymous_subscribers', value: streamsOf(app).anonymous },
    ];
  },
};

/**
 * Interval at which the delay of the event loop is measured, ms. It is the least delay that the metrics show, because they contain the interval. With the
 * default of 10 ms, the measurement takes most of the CPU time of an idle process.
 */
const LAG_INTERVAL_MS = 50;

let collectsDefaults = false;

/**
 * Opens the metrics of an application. `text()` returns a scrape in Prometheus's text format: the counters and histograms of this process, and
 * gauges, which are read during the scrape or come from a cache. A group of gauges that cannot be read is left out.
 * @param more the gauge readers to use in addition to those of the platform and of `app.gauges`
 */
export function openMetrics(app: App, more: readonly GaugeReader[] = []): { readonly contentType: string; text(): Promise<string> } {
  // The default metrics describe the process. They are registered once, because tests run several applications in one process.
  if (!collectsDefaults) collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_INTERVAL_MS });
  collectsDefaults = true;
  const readers = [processGauges, queueGauges, databaseGauges, ...app.gauges, ...more].map((reader) => ({
    gauges: reader.gauges,
    read: cachedReader(app, reader),
  }));
  return {
    contentType: registry.contentType,
    async text() {
      const groups = await Promise.all(readers.map(async ({ gauges, read }) => formatGauges(gauges, await read())));
      return [await registry.metrics(), ...groups].join('');
    },
  };
}
