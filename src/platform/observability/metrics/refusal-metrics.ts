import { Counter } from 'prom-client';
import type { RefusedBy } from '#lib/concurrency/fair-queue.ts';
import { registry } from './metrics.ts';

const refused = new Counter({
  name: 'coinop_http_refused_total',
  help: 'Requests that were refused because too many requests of their load were in flight (of the load stream: too many event streams were open), by load and by the exceeded bound: caller (one caller), total (all callers).',
  labelNames: ['load', 'by'] as const,
  registers: [registry],
});

const wrongTokens = new Counter({
  name: 'coinop_wrong_tokens_total',
  help: 'Requests with an admin or internal token that is not configured or has expired.',
  registers: [registry],
});

/** Creates the time series of a load with the value 0, because Prometheus computes no increase for a time series that begins at 1. */
export function createRefusalSeries(load: string): void {
  for (const by of ['caller', 'total']) refused.inc({ load, by }, 0);
}

/** Counts a request with a wrong token. */
export const countWrongToken = (): void => wrongTokens.inc();

/** Counts a refused request. */
export const countRefusal = (load: string, by: RefusedBy): void => refused.inc({ load, by });
