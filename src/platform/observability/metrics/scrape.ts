import { collectDefaultMetrics } from 'prom-client';
import { balances } from '#areas/lottery/treasury-gauges.ts';
import type { App } from '#platform/app.ts';
import { streamsOf } from '#platform/events/sse.ts';
import { record } from './database-gauges.ts';
import { cached, expose, type Reading } from './gauge-reader.ts';
import { registry } from './metrics.ts';
import { queues } from './queue-gauges.ts';

/** What this process alone knows. */
const own: Reading = {
  keepMs: 0,
  gauges: {
    coinop_sql_connections: 'Connections of this process to PostgreSQL, and those who wait for one.',
    coinop_sql_connections_most: 'Connections that this process may have.',
    coinop_sse_subscribers: 'Event streams that are open in this process.',
  },
  async read(app) {
    const pool = await app.orm.em.getConnection().getNativeClient();
    return [
      { name: 'coinop_sql_connections', labels: { state: 'idle' }, value: pool.idleCount },
      { name: 'coinop_sql_connections', labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
      { name: 'coinop_sql_connections', labels: { state: 'waiting' }, value: pool.waitingCount },
      { name: 'coinop_sql_connections_most', value: app.config.database.pool },
      { name: 'coinop_sse_subscribers', value: streamsOf(app).size },
    ];
  },
};

let collecting = false;

/**
 * The text of a scrape in Prometheus's format: what this process measured, and what is read now, or was a moment ago. Each
 * part that cannot be read is left out; the rest is told.
 * @param further readings of the caller's own
 */
export function openMetrics(app: App, further: readonly Reading[] = []): { readonly contentType: string; text(): Promise<string> } {
  // Once per process, however many applications run in it.
  if (!collecting) collectDefaultMetrics({ register: registry });
  collecting = true;
  const readings = [own, queues, record, balances, ...further].map((reading) => ({ gauges: reading.gauges, read: cached(app, reading) }));
  return {
    contentType: registry.contentType,
    async text() {
      const read = await Promise.all(readings.map(async ({ gauges, read }) => expose(gauges, await read())));
      return [await registry.metrics(), ...read].join('');
    },
  };
}
