import { coalesce } from '#lib/concurrency/coalesce.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import type { App, GaugeReader, GaugeSample } from '#platform/app.ts';

/**
 * Timeout for reading one group of gauges during a scrape, ms. It is longer than the timeout of a readiness check, so that a failed check is still
 * reported as a gauge.
 */
const READ_TIMEOUT_MS = 1_500;

const withTimeout = <T>(work: Promise<T>): Promise<T | null> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, READ_TIMEOUT_MS, null);
    work.then(resolve, () => resolve(null)).finally(() => clearTimeout(timer));
  });

/**
 * Returns a function that reads a group of gauges of an application and caches the samples. At most one read is in flight. When a read fails or times
 * out, the function returns no samples.
 */
export function cachedReader(app: App, reader: GaugeReader): () => Promise<readonly GaugeSample[]> {
  const readOnce = coalesce(async () => await reader.read(app));
  const samples = ttlCache(reader.cacheMs, (group: string) => readOnce(group, undefined));
  return async () => (await withTimeout(samples.get('all'))) ?? [];
}

/** Formats gauges as Prometheus text. A gauge without samples gets only its HELP and TYPE lines. */
export function formatGauges(gauges: GaugeReader['gauges'], samples: readonly GaugeSample[]): string {
  const byName = Map.groupBy(samples, ({ name }) => name);
  return Object.entries(gauges)
    .map(([name, help]) => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${(byName.get(name) ?? []).map(lineOf).join('')}`)
    .join('');
}

function lineOf({ name, labels = {}, value }: GaugeSample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`))}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join()}}` : ''} ${value}\n`;
}
