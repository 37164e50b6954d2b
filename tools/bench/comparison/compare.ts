import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figure } from '../support/report.ts';
import { Turns } from './turns.ts';

const root = join(import.meta.dirname, '../../..');

/** Runs of each benchmark on each of the two releases. */
export const COMPARED_RUNS = Number(process.env.BENCH_RUNS ?? 3);

/** Turns of each measurement in one run. Each turn is a value of its own. */
const TURNS_PER_RUN = '4';

/** How a benchmark runs in a comparison. */
export interface RunOptions {
  /** Further environment variables for the process of the benchmark. It also gets all variables of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The turns of the processes that run at the same time. */
  readonly turns?: Turns;
  /** Name of the side in the output. */
  readonly label?: string;
}

/** Runs a benchmark, or the benchmark of a peer with the same name. */
export type RunBenchmark = (name: string, options?: RunOptions) => Promise<Figure[]>;

/** Returns whether the other side of a comparison is the address of another server. */
export const isPeer = (other: string): boolean => /^https?:\/\//.test(other);

/**
 * Compares this checkout with another commit, or with another server. Runs the benchmarks of this checkout on both in turn, so that slow and fast minutes of the machine
 * affect both: a benchmark that takes turns measures both sides every few seconds, and each other benchmark runs on one side after the other.
 * @param other the other commit, as Git names it; or the URL of the other server
 * @returns the medians of this checkout, each compared with the median of the other side
 */
export async function compare(other: string, names: readonly string[], run: RunBenchmark): Promise<Figure[]> {
  if (isPeer(other)) return await alternate(new URL(other).host, { PEER_URL: other }, names, run);
  const folder = mkdtempSync(join(tmpdir(), 'coinop-compare-'));
  try {
    return await alternate(checkOut(other, folder), { SYSTEM_CHECKOUT: folder }, names, run);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs benchmarks on both sides in turn.
 * @param label name of the other side in the output
 * @param env environment variables that select the other side
 */
async function alternate(label: string, env: Readonly<Record<string, string>>, names: readonly string[], run: RunBenchmark): Promise<Figure[]> {
  const [own, other]: [Figure[], Figure[]] = [[], []];
  const [turns, common] = [new Turns(), { BENCH_TURNS: TURNS_PER_RUN, ...process.env }];
  for (let i = 1; i <= COMPARED_RUNS; i++) {
    for (const name of names) {
      console.log(`run ${i} of ${COMPARED_RUNS}: ${name}`);
      const [theirs, mine] = await Promise.all([
        run(name, { turns, label, env: { ...common, ...env } }),
        run(name, { turns, label: 'this checkout', env: common }),
      ]);
      other.push(...theirs);
      own.push(...mine);
    }
  }
  return compared(own, other, label);
}

/** Writes the files of a commit into a folder, with its npm packages. @returns the short name of the commit */
function checkOut(ref: string, folder: string): string {
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'buffer', maxBuffer: 1024 ** 3 });
  // `--end-of-options` makes Git refuse a name that begins with a hyphen instead of reading it as an option.
  const commit = git('rev-parse', '--short', '--verify', '--end-of-options', `${ref}^{commit}`).toString().trim();
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) });
  const lockOf = (of: string) => readFileSync(join(of, 'package-lock.json'), 'utf8');
  if (lockOf(folder) === lockOf(root)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  else execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  return commit;
}

/**
 * Returns one row per value that both sides have: the median of this checkout, the median and the spread (least and greatest value) of both, and the
 * ratio. Both sides measured in turn, so the ratio is the median of the ratios of the measurements that followed each other. If one side has more
 * measurements, for example because the other one failed, it is the ratio of the medians.
 * @param label name of the other side
 */
export function compared(own: readonly Figure[], other: readonly Figure[], label: string): Figure[] {
  const keyOf = ({ bench, what }: Figure) => `${bench} ${what}`;
  const others = Map.groupBy(other, keyOf);
  return [...Map.groupBy(own, keyOf)].flatMap(([key, figures]) => {
    const [first] = figures;
    const [mine, theirs] = [valuesOf(figures), valuesOf(others.get(key) ?? [])];
    if (!first || mine.length === 0) return [];
    const unit = first.figure.replace(/^[\d.,∞-]+/, '');
    const { bench, what } = first;
    const row = { bench, what, figure: `${shown(median(mine))}${unit} (${spread(mine)})`, value: median(mine) };
    if (theirs.length === 0) return [{ ...row, against: `not in ${label}`, ratio: '' }];
    return [
      {
        ...row,
        against: `${label}: ${shown(median(theirs))}${unit} (${spread(theirs)})`,
        ratio: `${ratioOf(figures, others.get(key) ?? []).toFixed(2)}×`,
      },
    ];
  });
}

/** Returns the ratio of two lists of values, as `compared` describes it. */
function ratioOf(own: readonly Figure[], other: readonly Figure[]): number {
  if (own.length !== other.length) return median(valuesOf(own)) / median(valuesOf(other));
  const ratios = own.map(({ value }, i) => value / (other[i]?.value ?? Number.NaN));
  return median(ratios.filter((ratio) => !Number.isNaN(ratio)).sort((a, b) => a - b));
}

const valuesOf = (figures: readonly Figure[]): number[] =>
  figures
    .map(({ value }) => value)
    .filter((value) => Number.isFinite(value))
    .sort((a, b) => a - b);

/** Returns the median of sorted values. */
export function median(sorted: readonly number[]): number {
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

const shown = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 4 });
const spread = (sorted: readonly number[]): string => `${shown(sorted[0] ?? Number.NaN)}–${shown(sorted.at(-1) ?? Number.NaN)}`;
