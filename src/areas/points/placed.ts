import { percentile } from '../../lib/ranking.ts';
import { NEIGHBOURS, type Ranked } from './board-scripts.ts';
import { type Neighbourhood, UNRANKED } from './boards.ts';

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

/** Rows of a statement that left-joins lines to the count: one without a line when nothing was asked for that exists. */
export type PlacedRecord = { total: number } & (PlacedRow | { position: null });

/** Collects rows of a statement. */
export function placed(records: readonly PlacedRecord[]): Placed {
  const rows = new Map<number, PlacedRow>();
  for (const record of records) if (record.position !== null) rows.set(record.position, record);
  return { total: records[0]?.total ?? 0, rows };
}

/** A page's positions, as the int4multirange that the statements take. */
export const positions = (pages: readonly { offset: number; limit: number }[]): string =>
  `{${pages.map(({ offset, limit }) => `[${offset + 1},${offset + limit + 1})`).join(',')}}`;

/** SQL: the positions wanted for page windows `$windows` and for wallets whose place is in `own (position, rank)`, `$reach` around each. */
export const wantedSql = (windows: string, reach: string) => `
  select ${windows}::int4multirange
    + coalesce(range_agg(int4range(greatest(position - ${reach}::int, 1), position + ${reach}::int, '[]')), '{}')
    + coalesce(range_agg(int4range(rank - 1, rank)) filter (where rank > 1), '{}') as positions
  from own`;

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
