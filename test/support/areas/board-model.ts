import type { RankedLine } from '#areas/points';
import { bucketOf, type Span } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';

/** One value for a board: points that are added up, or a score of which the best counts. */
export interface ModelEntry {
  board: string;
  wallet: string;
  day: number;
  value: number;
  /** Whether the value counts for all time only. */
  allTimeOnly?: boolean;
}

/** A naive model of the boards: computes each answer from all values. */
export class BoardModel {
  readonly entries: ModelEntry[] = [];

  add(entry: ModelEntry): void {
    this.entries.push(entry);
  }

  /** Lists wallets with values above 0, best first, ties by address descending. */
  list(board: string, span: Span, day: number): RankedLine[] {
    const values = new Map<string, number>();
    for (const entry of this.entries) {
      if (entry.board !== board) continue;
      if (span !== 'all' && (entry.allTimeOnly || bucketOf(span, entry.day) !== bucketOf(span, day))) continue;
      const before = values.get(entry.wallet) ?? 0;
      values.set(entry.wallet, board.startsWith('game:') ? Math.max(before, entry.value) : before + entry.value);
    }
    const listed = [...values].filter(([, value]) => value > 0);
    return listed
      .map(([wallet, score]) => ({ rank: 1 + listed.filter(([, other]) => other > score).length, wallet, score }))
      .sort((a, b) => b.score - a.score || (a.wallet < b.wallet ? 1 : -1));
  }

  neighbourhood(board: string, span: Span, day: number, wallet: string): Neighbourhood {
    const list = this.list(board, span, day);
    const index = list.findIndex((line) => line.wallet === wallet);
    const own = list[index];
    if (!own) return { rank: null, score: 0, percentile: null, pointsToNext: null, neighbours: [] };
    const better = list.filter((line) => line.score > own.score).at(-1);
    return {
      rank: own.rank,
      score: own.score,
      percentile: Math.round((10_000 * (list.length - own.rank + 1)) / list.length) / 100,
      pointsToNext: better ? better.score - own.score : null,
      neighbours: list.slice(Math.max(index - 2, 0), index + 3).filter((line) => line !== own),
    };
  }
}

/** Returns a pseudorandom generator that repeats the same numbers for the same seed. */
export function randomGenerator(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** Returns an integer from `min` to `max`, both included. */
    int: (min: number, max: number) => min + Math.floor(next() * (max - min + 1)),
    pick: <const T>(items: readonly [T, ...T[]]): T => items[Math.floor(next() * items.length)] ?? items[0],
  };
}
