import type { Period } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { type BoardPositions, boardPositions, type PositionQuery, type PositionRow } from './boards/positions.ts';
import type { BoardScope } from './boards/values.ts';

// Each of the statements below filters by columns of one index, so that PostgreSQL reads only the requested rows. Reading all rows of a period would
// take a second.
const countFinals = statement<{ total: number }>(
  'count_finals',
  'select position as total from finals where board = $1 and period = $2 and bucket = $3 order by position desc limit 1',
);
const selectFinals = statement<PositionRow>(
  'select_finals',
  `select position, rank, wallet, value::float8 as score from finals
   where board = $1 and period = $2 and bucket = $3 and position between $4 and $5 order by position`,
);
const selectPosition = statement<{ position: number; rank: number }>(
  'select_final_places',
  'select position, rank from finals where board = $1 and period = $2 and bucket = $3 and wallet = $4',
);
// One index lookup per banned wallet.
const selectBanned = statement<PositionRow>(
  'select_banned_finals',
  `select f.position, f.rank, p.wallet, f.score from players p, lateral (
     select position, rank, value::float8 as score from finals
     where board = $1 and period = $2 and bucket = $3 and wallet = p.wallet offset 0) f
   where p.banned_at is not null order by f.position`,
);

/** Final ranks without the lines of banned wallets, which are stored but not shown. */
class ShownRanks {
  readonly hidden: readonly PositionRow[];

  constructor(hidden: readonly PositionRow[]) {
    this.hidden = hidden;
  }

  /** Returns the stored position of a shown position. */
  stored(position: number): number {
    return this.hidden.reduce((stored, line) => (line.position <= stored ? stored + 1 : stored), position);
  }

  /** Returns the line as it is shown: without the banned wallets above it. */
  shown(line: PositionRow): PositionRow {
    const above = this.hidden.filter(({ position }) => position < line.position).length;
    const better = this.hidden.filter(({ rank }) => rank < line.rank).length;
    return { ...line, position: line.position - above, rank: line.rank - better };
  }

  isHidden = ({ position }: Pick<PositionRow, 'position'>): boolean => this.hidden.some((line) => line.position === position);
}

/** Reads the stored final ranks of a closed period, without banned wallets. */
export async function readFinals(app: App, { board, span, bucket }: BoardScope, queries: readonly PositionQuery[]): Promise<BoardPositions> {
  const key = [board, span, bucket];
  const ranks = new ShownRanks(await app.db.query(selectBanned, key));
  const ranges = await Promise.all(
    queries.map(async (query) => {
      if ('limit' in query) return [[query.offset + 1, query.offset + query.limit] as const];
      const stored = (await app.db.query(selectPosition, [...key, query.wallet]))[0];
      if (!stored || ranks.isHidden(stored)) return [];
      const own = ranks.shown({ ...stored, wallet: query.wallet, score: 0 });
      return [[own.position - query.reach, own.position + query.reach] as const, [own.rank - 1, own.rank - 1] as const];
    }),
  );
  const [total, ...rows] = await Promise.all([
    app.db.query(countFinals, key),
    ...ranges.flat().map(([first, last]) => app.db.query(selectFinals, [...key, ranks.stored(first), ranks.stored(last)])),
  ]);
  const shown = rows.flat().flatMap((line) => (ranks.isHidden(line) ? [] : [ranks.shown(line)]));
  return boardPositions((total[0]?.total ?? 0) - ranks.hidden.length, shown);
}

const selectSummary = statement<{ participants: number; points: number; topScore: number | null }>(
  'select_final_summary',
  `select coalesce((select position from finals where board = $1 and period = $2 and bucket = $3 order by position desc limit 1), 0)::int as participants,
          coalesce((select points from final_sums where board = $1 and period = $2 and bucket = $3), 0)::float8 as points,
          (select value from finals where board = $1 and period = $2 and bucket = $3 and position = $4)::float8 as "topScore"`,
);

/**
 * Reads the size of a board of points in a closed period, without banned wallets: its wallets, the sum of their points and the points of the best.
 */
export async function readFinalSummary(app: App, board: string, period: Period, bucket: number) {
  const ranks = new ShownRanks(await app.db.query(selectBanned, [board, period, bucket]));
  const summary = (await app.db.query(selectSummary, [board, period, bucket, ranks.stored(1)]))[0];
  if (!summary) throw new Error('the statement select_final_summary returned no row');
  const hiddenPoints = ranks.hidden.reduce((sum, { score }) => sum + score, 0);
  return { ...summary, participants: summary.participants - ranks.hidden.length, points: summary.points - hiddenPoints };
}
