import { gameBoard, isBanned } from '#areas/points';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';

/** Maximum age of cached stats, ms. Stats are cached, because reading them scans the game's board. */
const MAX_AGE_MS = 2_000;

/**
 * Public statistics of a game, all in regular mode:
 * - plays: plays that wallets started, and scores that name none of these plays
 * - players: wallets with at least one of these plays
 * - scores: accepted scores; each has a play, so there are at most as many as plays
 * - average and best: of the normalized values of these scores; null while there are none
 * Scores of banned wallets do not count.
 */
export interface GameStats {
  totalPlays: number;
  uniquePlayers: number;
  totalScores: number;
  averageScore: number | null;
  bestScore: number | null;
}

// Reads all values in one snapshot. A wallet whose scores are all void keeps a standing of 0, so without scores the best standing is no score.
const selectStats = statement<GameStats>(
  'select_game_stats',
  `select c.plays as "totalPlays", c.players as "uniquePlayers", c.scores as "totalScores",
          round((c.sum / nullif(c.scores, 0))::numeric, 2)::float8 as "averageScore", case when c.scores > 0 then b.best end as "bestScore"
   from (select coalesce(sum(plays), 0)::float8 as plays, coalesce(sum(players), 0)::float8 as players, coalesce(sum(scores), 0)::float8 as scores,
                coalesce(sum(score_sum), 0)::float8 as sum
         from game_counters where game_id = $1) c,
        (select max(total)::float8 as best from standings s where board = $2 and mode = 'regular' and not ${isBanned('s.wallet')}) b`,
);

/** Reads a game's stats from the database. */
export async function readGameStats(db: Queryable, gameId: string): Promise<GameStats> {
  const stats = (await db.query(selectStats, [gameId, gameBoard(gameId)]))[0];
  if (!stats) throw new Error('the statement select_game_stats returned no row');
  return stats;
}

const cache = perApp((app) => ttlCache<string, GameStats>(MAX_AGE_MS, (gameId) => readGameStats(app.db, gameId)));

/**
 * Returns a game's stats, at most 2 s old. Precondition: the game exists. The cache stores an entry for every id that is passed, so unknown ids would
 * fill the cache.
 */
export function gameStats(app: App, gameId: string): Promise<GameStats> {
  return app.state(cache).get(gameId);
}
