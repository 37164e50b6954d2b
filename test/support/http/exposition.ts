/** A scrape, taken apart. */
export interface Scrape {
  /** Type by name, as `# TYPE` says; of histograms the name without its endings. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly { name: string; labels: Readonly<Record<string, string>>; value: number }[];
  /** The value of one series; undefined where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (-?(?:\d[\d.e+-]*|Inf)|\+Inf|Nan|NaN)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g;

/** Reads Prometheus's text format. @throws at the first line that is none of it, at a series without a type, and at one that comes twice */
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
    if (name === undefined) throw new Error(`no line of a scrape: ${line}`);
    const labels = Object.fromEntries([...pairs.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text]));
    if (!types.has(familyOf(name, types))) throw new Error(`${name} has no type`);
    const key = keyOf(name, labels);
    if (series.has(key)) throw new Error(`${key} comes twice`);
    series.set(key, { name, labels, value: Number(value) });
  }
  return { types, samples: [...series.values()], value: (name, labels = {}) => series.get(keyOf(name, labels))?.value };
}

const keyOf = (name: string, labels: Readonly<Record<string, string>>) => JSON.stringify([name, Object.entries(labels).sort()]);

/** The metric that a series belongs to. */
export function familyOf(name: string, types: ReadonlyMap<string, string>): string {
  const base = name.replace(/_(?:bucket|sum|count)$/, '');
  return types.get(name) === undefined && types.has(base) ? base : name;
}
