import { type Neighbourhood, percentile, UNRANKED } from '#lib/ranking.ts';
import { NEIGHBOURS, type Ranked } from './scripts.ts';

/** A page of a board: its lines, and how many wallets are listed in all. */
export interface Page {
  entries: Ranked[];
  total: number;
}

/** What is asked of a board that SQL answers: positions, or a wallet with `reach` positions on either side and the next better score. */
export type Ask = { offset: number; limit: number } | { wallet: string; reach: number };

/** A line of a board with its place, 1 = first. No two lines share one. */
export interface PlacedRow extends Ranked {
  position: number;
}

/** What SQL found for a number of asks: the lines that they need, and how many wallets are listed. */
export interface Placed {
  total: number;
  rows: ReadonlyMap<number, PlacedRow>;
}

/** Collects lines. @param total how many wallets are listed */
export function placed(total: number, lines: readonly PlacedRow[]): Placed {
  return { total, rows: new Map(lines.map((line) => [line.position, line])) };
}

/** Picks a page. */
export function pageOf({ total, rows }: Placed, offset: number, limit: number): Page {
  const entries: Ranked[] = [];
  for (let position = offset + 1; position <= offset + limit; position++) {
    const row = rows.get(position);
    if (row) entries.push({ rank: row.rank, wallet: row.wallet, score: row.score });
  }
  return { entries, total };
}

/** The place of a wallet, null when it is not listed. */
export function placeOf({ rows }: Placed, wallet: string): PlacedRow | null {
  for (const row of rows.values()) if (row.wallet === wallet) return row;
  return null;
}

/** Picks a wallet's neighbourhood. */
export function neighbourhoodAt(found: Placed, wallet: string): Neighbourhood {
  const own = placeOf(found, wallet);
  if (!own) return UNRANKED;
  const offset = Math.max(own.position - 1 - NEIGHBOURS, 0);
  const { entries } = pageOf(found, offset, own.position + NEIGHBOURS - offset);
  // The line before the first of those who share a rank has the next better score.
  const better = own.rank > 1 ? found.rows.get(own.rank - 1) : undefined;
  return {
    rank: own.rank,
    score: own.score,
    percentile: percentile(own.rank, found.total),
    pointsToNext: better ? better.score - own.score : null,
    neighbours: entries.filter((line) => line.wallet !== wallet),
  };
}
