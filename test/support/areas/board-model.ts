import type { Ranked } from '#areas/points';
import { bucketOf, type Span } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';

/** Something that counts on a board: points that are added up, or a score of which the best counts. */
export interface Mark {
  board: string;
  wallet: string;
  day: number;
  value: number;
  /** Counts for all time alone. */
  allTimeOnly?: boolean;
}

/** What boards are to say, computed from everything that ever happened, as plainly as possible. */
export class BoardModel {
  readonly marks: Mark[] = [];

  add(mark: Mark): void {
    this.marks.push(mark);
  }

  /** Best first, ties by address descending; values above 0 alone. */
  list(board: string, span: Span, day: number): Ranked[] {
    const values = new Map<string, number>();
    for (const mark of this.marks) {
      if (mark.board !== board) continue;
      if (span !== 'all' && (mark.allTimeOnly || bucketOf(span, mark.day) !== bucketOf(span, day))) continue;
      const before = values.get(mark.wallet) ?? 0;
      values.set(mark.wallet, board.startsWith('game:') ? Math.max(before, mark.value) : before + mark.value);
    }
    const listed = [...values].filter(([, value]) => value > 0);
    return listed
      .map(([wallet, score]) => ({ rank: 1 + listed.filter(([, other]) => other > score).length, wallet, score }))
      .sort((a, b) => b.score - a.score || (a.wallet < b.wallet ? 1 : -1));
  }

  place(board: string, span: Span, day: number, wallet: string): Neighbourhood {
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

/** Numbers that look random and are the same at every run. */
export function generator(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** An integer from `min` to `max`, both included. */
    int: (min: number, max: number) => min + Math.floor(next() * (max - min + 1)),
    pick: <const T>(items: readonly [T, ...T[]]): T => items[Math.floor(next() * items.length)] ?? items[0],
  };
}
