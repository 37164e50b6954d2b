import type { App } from '#platform/app.ts';

/** One value of a gauge. */
export interface Sample {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Gauges that are read together when a scrape asks for them. */
export interface Reading {
  /** Help by name. */
  readonly gauges: Readonly<Record<string, string>>;
  /** How long what was read is told again, ms: many scrapers cost no more than one. */
  readonly keepMs: number;
  /** Bounded, and cheap. What throws, or takes too long, is left out of the scrape: an old value would look like a good one. */
  read(app: App): Promise<readonly Sample[]> | readonly Sample[];
}

/** How long a scrape waits for a reading, ms: longer than the check of a dependency that hangs. */
const WITHIN_MS = 1_500;

const within = <T>(work: Promise<T>): Promise<T | null> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, WITHIN_MS, null);
    work.then(resolve, () => resolve(null)).finally(() => clearTimeout(timer));
  });

/** A reading of one application: read once for all who ask meanwhile, and again when it is older than it may be. */
export function cached(app: App, reading: Reading): () => Promise<readonly Sample[]> {
  let kept: { samples: readonly Sample[]; until: number } | null = null;
  let underway: Promise<readonly Sample[]> | null = null;
  return async () => {
    if (kept !== null && performance.now() < kept.until) return kept.samples;
    // A reading that hangs is not begun a second time.
    underway ??= Promise.resolve()
      .then(() => reading.read(app))
      .then((samples) => {
        kept = { samples, until: performance.now() + reading.keepMs };
        return samples;
      })
      .finally(() => {
        underway = null;
      });
    return (await within(underway)) ?? [];
  };
}

/** Gauges in Prometheus's text format, also those without a value. */
export function expose(gauges: Reading['gauges'], samples: readonly Sample[]): string {
  const byName = Map.groupBy(samples, ({ name }) => name);
  return Object.entries(gauges)
    .map(([name, help]) => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${(byName.get(name) ?? []).map(lineOf).join('')}`)
    .join('');
}

function lineOf({ name, labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`))}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join()}}` : ''} ${value}\n`;
}
