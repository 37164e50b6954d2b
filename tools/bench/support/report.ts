import { basename } from 'node:path';
import type { LoadResult } from './load.ts';

/** A row of the result table: a measured value, and the limit or other value that it is compared with. */
export interface Figure {
  readonly bench: string;
  readonly what: string;
  readonly figure: string;
  /** The value of `figure` without its unit; not a number for a value that cannot be measured. */
  readonly value: number;
  /** A limit, a value of a peer (another server or measurement), or a remark. */
  readonly against: string;
  /**
   * The value divided by the limit or by the value of the peer; empty when there is neither a limit nor a peer. Ends with `!` when the value violates
   * the limit.
   */
  readonly ratio: string;
}

/** Comparison for a measured value: a limit, a value of a peer in the same unit, or a remark. */
export type Against = { readonly atMost: number } | { readonly atLeast: number } | { readonly peer: string; readonly value: number } | string;

const bench = basename(process.argv[1] ?? '', '.ts');
const WIDTHS = { bench: 8, what: 56, figure: 14, against: 34, ratio: 0 };
const HEAD: Figure = { bench: 'bench', what: 'what', figure: 'figure', value: Number.NaN, against: 'limit or peer', ratio: 'ratio' };

/** Prints a measured value, and sends it to `tools/bench/main.ts` for the result table. */
export function report(what: string, value: number, unit: string, against: Against = ''): void {
  send({ bench, what, figure: withUnit(value, unit), value, ...compared(value, unit, against) });
}

/** Reports that a value cannot be measured on this machine. */
export function reportUnavailable(what: string, why: string): void {
  send({ bench, what, figure: '–', value: Number.NaN, against: why, ratio: '' });
}

/**
 * Reports the requests per second, the median and the 99th percentile of a load, and how often each status other than 2xx occurred.
 * @param limits the minimum requests per second, and the maximum median and 99th percentile of the latencies, ms
 */
export function reportLoad(
  what: string,
  result: Pick<LoadResult, 'perSec' | 'p50' | 'p99' | 'statuses'>,
  limits: { perSec?: number; p50?: Against; p99?: number } = {},
): void {
  report(what, result.perSec, '/s', limits.perSec === undefined ? '' : { atLeast: limits.perSec });
  report(`${what}: p50`, result.p50, 'ms', limits.p50);
  report(`${what}: p99`, result.p99, 'ms', limits.p99 === undefined ? '' : { atMost: limits.p99 });
  for (const [status, count] of Object.entries(result.statuses))
    if (!status.startsWith('2')) report(`${what}: status ${status}`, count, 'times', { atMost: 0 });
}

function send(figure: Figure): void {
  console.log(line(figure, WIDTHS));
  process.send?.(figure);
}

function compared(value: number, unit: string, against: Against): { against: string; ratio: string } {
  if (typeof against === 'string') return { against, ratio: '' };
  if ('atMost' in against) return { against: `≤ ${withUnit(against.atMost, unit)}`, ratio: ratio(value, against.atMost, value > against.atMost) };
  if ('atLeast' in against) return { against: `≥ ${withUnit(against.atLeast, unit)}`, ratio: ratio(value, against.atLeast, value < against.atLeast) };
  return { against: `${against.peer}: ${withUnit(against.value, unit)}`, ratio: ratio(value, against.value, false) };
}

function ratio(value: number, by: number, isMissed: boolean): string {
  const shown = by === 0 ? '' : `${(value / by).toFixed(2)}×`;
  return isMissed ? `${shown} !` : shown;
}

function withUnit(value: number, unit: string): string {
  const number = value.toLocaleString('en', { maximumSignificantDigits: 4 });
  return unit === '' || unit.startsWith('/') ? `${number}${unit}` : `${number} ${unit}`;
}

function line(figure: Figure, widths: typeof WIDTHS): string {
  const cell = (column: 'bench' | 'what' | 'against') => figure[column].padEnd(widths[column]);
  return `${cell('bench')}  ${cell('what')}  ${figure.figure.padStart(widths.figure)}  ${cell('against')}  ${figure.ratio}`.trimEnd();
}

/** Returns the rows as a text table. */
export function table(figures: readonly Figure[]): string {
  const widest = (column: Exclude<keyof Figure, 'value'>, of: readonly Figure[]) => Math.max(...of.map((figure) => figure[column].length));
  const all = [HEAD, ...figures];
  const compared = all.filter((figure) => figure.ratio !== '');
  const widths = {
    ...WIDTHS,
    bench: widest('bench', all),
    what: widest('what', all),
    figure: widest('figure', all),
    against: widest('against', compared),
  };
  return all.map((figure) => line(figure, widths)).join('\n');
}
