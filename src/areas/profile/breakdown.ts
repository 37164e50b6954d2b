import { loadGames } from '#areas/arcade';
import { gameBoard, type Mode, type PlayerPoints, readPlayerPoints, type StandingRow } from '#areas/points';
import { bucketOf, dayNumber, type Period } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';

/** A wallet's results in one game. `best` is the best normalized score, 0 to 10,000. */
export interface GameLine {
  gameId: string;
  best: number;
  scores: number;
  points: number;
}

/** Points by source. */
interface PointSources {
  games: number;
  quests: number;
  referrals: number;
  /** Points that operators gave, minus the points that they took. */
  adjustments: number;
}

/** A wallet's points in one mode (regular or beta), without voided points. */
export interface ModePoints {
  total: number;
  sources: PointSources & { conversions: number };
  /** Points of the current UTC periods. Points from conversions count in no period. */
  periods: Record<Period, PointSources & { points: number }>;
  /** Games with an accepted score, highest best score first. */
  games: GameLine[];
}

/**
 * Boards whose values are sums of points: all points, points from quests, and points from referrals. Points from games are all points minus the other
 * two and the adjustments.
 */
const SUMS = ['global', 'quests', 'referrals'] as const;

/** Reads the standings and counters of a wallet with one query; null when the wallet never signed in. */
export async function readHoldings(app: App, wallet: string): Promise<PlayerPoints | null> {
  const games = await loadGames(app);
  return await readPlayerPoints(app.db, wallet, [...SUMS, ...[...games.keys()].map(gameBoard)]);
}

/** Computes a wallet's points in a mode from its standings and counters, for the periods that contain `now`. */
export function modePointsOf(holder: PlayerPoints, mode: Mode, now: Date): ModePoints {
  const today = dayNumber(now);
  const standings = new Map(holder.standings.filter((row) => row.mode === mode).map((row) => [row.board, row]));
  const adjusted = holder.adjustments.filter((row) => row.mode === mode);
  const summed = (valueOn: (row: StandingRow) => number, isCounted: (day: number) => boolean) => {
    const [points = 0, quests = 0, referrals = 0] = SUMS.map((board) => standings.get(board)).map((row) => row && valueOn(row));
    const adjustments = adjusted.reduce((sum, { day, points }) => (isCounted(day) ? sum + points : sum), 0);
    return { points, games: points - quests - referrals - adjustments, quests, referrals, adjustments };
  };
  const during = (period: Period) => {
    const bucket = bucketOf(period, today);
    return summed(
      (row) => (row[period] === bucket ? row[`${period}_value`] : 0),
      (day) => bucketOf(period, day) === bucket,
    );
  };

  const {
    points: total,
    games: gamePoints,
    ...sources
  } = summed(
    (row) => row.total,
    () => true,
  );
  const conversions = mode === 'regular' ? holder.convertedPoints : 0 - holder.convertedBeta;
  const games = Object.entries(holder.tally[mode] ?? {})
    .map(([gameId, { scores, points }]) => ({ gameId, best: standings.get(gameBoard(gameId))?.total ?? 0, scores, points }))
    .filter(({ scores }) => scores > 0)
    .sort((a, b) => b.best - a.best || (a.gameId < b.gameId ? -1 : 1));
  return {
    total,
    sources: { games: gamePoints - conversions, ...sources, conversions },
    periods: { day: during('day'), week: during('week'), month: during('month'), year: during('year') },
    games,
  };
}

/** Returns the number of accepted scores over several games. */
export const countScores = (games: readonly GameLine[]): number => games.reduce((sum, { scores }) => sum + scores, 0);
