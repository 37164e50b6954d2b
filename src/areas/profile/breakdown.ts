import { loadGames } from '#areas/arcade';
import { gameBoard, type Holder, type Mode, readHolder, type StandingRow } from '#areas/points';
import { bucketOf, dayNumber, type Period } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';

/** What a wallet has from a game. `best` is its best normalized score. */
export interface GameLine {
  gameId: string;
  best: number;
  scores: number;
  points: number;
}

/** What points are from: they add up. */
interface Sources {
  games: number;
  quests: number;
  referrals: number;
}

/** A wallet's points in one mode, seen from every side. Points are less those taken back. */
export interface PointsOf {
  total: number;
  sources: Sources & { conversions: number };
  /** Of the current periods, in UTC; conversions count for none. */
  periods: Record<Period, Sources & { points: number }>;
  /** Best first. */
  games: GameLine[];
}

/** The boards that points are summed up on: all of them, and two of three sources. */
const SUMS = ['global', 'quests', 'referrals'] as const;

/** Reads what a wallet has, in one query; null for a wallet that never signed in. */
export async function holdingsOf(app: App, wallet: string): Promise<Holder | null> {
  const games = await loadGames(app);
  return await readHolder(app.db, wallet, [...SUMS, ...[...games.keys()].map(gameBoard)]);
}

/** A wallet's points in a mode: what the standings and counters of a holder amount to at a moment. */
export function pointsOf(holder: Holder, mode: Mode, now: Date): PointsOf {
  const today = dayNumber(now);
  const standings = new Map(holder.standings.filter((row) => row.mode === mode).map((row) => [row.board, row]));
  const summed = (valueOn: (row: StandingRow) => number) => {
    const [points = 0, quests = 0, referrals = 0] = SUMS.map((board) => standings.get(board)).map((row) => row && valueOn(row));
    return { points, games: points - quests - referrals, quests, referrals };
  };
  const during = (period: Period) => summed((row) => (row[period] === bucketOf(period, today) ? row[`${period}_value`] : 0));

  const { points: total, games: others, ...sources } = summed((row) => row.total);
  const conversions = mode === 'regular' ? holder.convertedPoints : 0 - holder.convertedBeta;
  const games = Object.entries(holder.tally[mode] ?? {})
    .map(([gameId, { scores, points }]) => ({ gameId, best: standings.get(gameBoard(gameId))?.total ?? 0, scores, points }))
    .filter(({ scores }) => scores > 0)
    .sort((a, b) => b.best - a.best || (a.gameId < b.gameId ? -1 : 1));
  return {
    total,
    sources: { games: others - conversions, ...sources, conversions },
    periods: { day: during('day'), week: during('week'), month: during('month'), year: during('year') },
    games,
  };
}

/** How many scores stand in some games. */
export const scoresIn = (games: readonly GameLine[]): number => games.reduce((sum, { scores }) => sum + scores, 0);
