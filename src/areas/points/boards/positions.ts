import { type Neighbourhood, percentile, UNRANKED } from '#lib/ranking.ts';
import { NEIGHBOURS, type RankedLine } from './scripts.ts';

/** The lines of a page of a board, and the number of wallets on the board. */
export interface PageEntries {
  entries: RankedLine[];
  total: number;
}

/**
 * Lines to read from a board by SQL: a range of positions, or the lines around a wallet. `reach`: number of lines above the wallet, and the same
 * number below the wallet. For a wallet, SQL also reads the line with the next better score.
 */
export type PositionQuery = { offset: number; limit: number } | { wallet: string; reach: number };

/** A line of a board with its position. Positions are unique, also for equal scores; 1 is the best. */
export interface PositionRow extends RankedLine {
  position: number;
}

/** Lines that SQL read from a board, keyed by position, and the number of wallets on the board. */
export interface BoardPositions {
  total: number;
  rows: ReadonlyMap<number, PositionRow>;
}

/**
 * Returns the lines of a board, keyed by position.
 * @param total the number of wallets on the board
 */
export function boardPositions(total: number, lines: readonly PositionRow[]): BoardPositions {
  return { total, rows: new Map(lines.map((line) => [line.position, line])) };
}

/** Returns the lines of one page, from the lines of the board that the caller has read. */
export function pageOf({ total, rows }: BoardPositions, offset: number, limit: number): PageEntries {
  const entries: RankedLine[] = [];
  for (let position = offset + 1; position <= offset + limit; position++) {
    const row = rows.get(position);
    if (row) entries.push({ rank: row.rank, wallet: row.wallet, score: row.score });
  }
  return { entries, total };
}

/** Returns a wallet's line; null when the wallet is not on the board. */
export function positionOf({ rows }: BoardPositions, wallet: string): PositionRow | null {
  for (const row of rows.values()) if (row.wallet === wallet) return row;
  return null;
}

/** Returns a wallet's neighbourhood: its rank and score, and the lines above and below it. */
export function neighbourhoodAt(found: BoardPositions, wallet: string): Neighbourhood {
  const own = positionOf(found, wallet);
  if (!own) return UNRANKED;
  const offset = Math.max(own.position - 1 - NEIGHBOURS, 0);
  const { entries } = pageOf(found, offset, own.position + NEIGHBOURS - offset);
  // Wallets with equal scores share a rank. The line just above them, at position `rank - 1`, has the next better score.
  const better = own.rank > 1 ? found.rows.get(own.rank - 1) : undefined;
  return {
    rank: own.rank,
    score: own.score,
    percentile: percentile(own.rank, found.total),
    pointsToNext: better ? better.score - own.score : null,
    neighbours: entries.filter((line) => line.wallet !== wallet),
  };
}
