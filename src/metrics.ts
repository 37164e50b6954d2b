import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { App } from './context.ts';

/** What this process measures, whatever it serves. Further metrics of a process are registered here. */
export const registry = new Registry();

const requests = new Histogram({
  name: 'coinop_http_request_seconds',
  help: 'How long requests took, by route template and status.',
  labelNames: ['method', 'route', 'status'] as const,
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 20],
  registers: [registry],
});

const jobs = new Histogram({
  name: 'coinop_job_seconds',
  help: 'How long jobs took, by name and outcome.',
  labelNames: ['job', 'outcome'] as const,
  buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 20, 60],
  registers: [registry],
});

/**
 * Counts an answered request.
 * @param route the template, never the path: ids would make a series each
 */
export function observeRequest(method: string, route: string, status: number, ms: number): void {
  requests.observe({ method, route, status }, ms / 1_000);
}

/** Runs a job and counts how it went. */
export async function observeJob<T>(name: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  let outcome = 'failed';
  try {
    const result = await work();
    outcome = 'done';
    return result;
  } finally {
    jobs.observe({ job: name, outcome }, (performance.now() - started) / 1_000);
  }
}

/** How long a scrape waits for a dependency; what does not answer is left out, ms. */
const SCRAPE_WITHIN_MS = 1_000;

const within = <T>(work: Promise<T>): Promise<T | null> =>
  Promise.race([work.catch(() => null), new Promise<null>((resolve) => setTimeout(resolve, SCRAPE_WITHIN_MS, null).unref())]);

/** What is read when it is asked for: the pool of this process, and the queues, which every process sees alike. */
function scraped(app: App): Registry {
  const own = new Registry();
  new Gauge({
    name: 'coinop_sql_connections',
    help: 'Connections of this process to PostgreSQL, and those who wait for one.',
    labelNames: ['state'] as const,
    registers: [own],
    async collect() {
      const pool = await within(app.orm.em.getConnection().getNativeClient());
      this.reset();
      if (!pool) return;
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });
  new Gauge({
    name: 'coinop_queue_jobs',
    help: 'Jobs by queue and state, the same from every process.',
    labelNames: ['queue', 'state'] as const,
    registers: [own],
    async collect() {
      this.reset();
      const states = ['waiting', 'active', 'delayed', 'prioritized', 'failed'] as const;
      await Promise.all(
        [...app.queues.all].map(async ([queue, bull]) => {
          const counts = await within(bull.getJobCounts(...states));
          for (const [state, count] of Object.entries(counts ?? {})) this.set({ queue, state }, count);
        }),
      );
    },
  });
  return own;
}

let collecting = false;

/** The text of a scrape in Prometheus's format. */
export function openMetrics(app: App): { readonly contentType: string; text(): Promise<string> } {
  // Once per process, however many applications run in it.
  if (!collecting) collectDefaultMetrics({ register: registry });
  collecting = true;
  const own = scraped(app);
  return {
    contentType: registry.contentType,
    text: async () => (await Promise.all([registry.metrics(), own.metrics()])).join(''),
  };
}
