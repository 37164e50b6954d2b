/** A parsed scrape. */
export interface Scrape {
  /** Metric types by name from the `# TYPE` lines. A histogram has its base name. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly { name: string; labels: Readonly<Record<string, string>>; value: number }[];
  /** Returns the value of a series, or undefined. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (-?(?:\d[\d.e+-]*|Inf)|\+Inf|Nan|NaN)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g;

/** Parses Prometheus's text format. @throws on an invalid line, a series without a type, and a repeated series or type */
export function readExposition(text: string): Scrape {
  const types = new Map<string, string>();
  const series = new Map<string, Scrape['samples'][number]>();
  for (const line of text.split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (typed !== undefined && type !== undefined) {
      if (types.has(typed)) throw new Error(`${typed} has two types`);
      types.set(typed, type);
    }
    if (line === '' || line.startsWith('#')) continue;
    const [, name, pairs = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) throw new Error(`invalid line of a scrape: ${line}`);
    const labels = Object.fromEntries([...pairs.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text]));
    if (!types.has(familyOf(name, types))) throw new Error(`${name} has no type`);
    const key = keyOf(name, labels);
    if (series.has(key)) throw new Error(`${key} is repeated`);
    series.set(key, { name, labels, value: Number(value) });
  }
  return { types, samples: [...series.values()], value: (name, labels = {}) => series.get(keyOf(name, labels))?.value };
}

const keyOf = (name: string, labels: Readonly<Record<string, string>>) => JSON.stringify([name, Object.entries(labels).sort()]);

/** Returns the name of the metric that a series belongs to. */
export function familyOf(name: string, types: ReadonlyMap<string, string>): string {
  const base = name.replace(/_(?:bucket|sum|count)$/, '');
  return types.get(name) === undefined && types.has(base) ? base : name;
}
