import { gameBoard } from '#areas/points';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';

/** Maximum age of cached stats, ms. Stats are cached, because reading them scans the game's board. */
const MAX_AGE_MS = 2_000;

/** Usage of a game. Scores are normalized; `averageScore` and `bestScore` are null while there are no scores. */
export interface GameStats {
  totalPlays: number;
  /** Wallets on the game's all-time board. */
  uniquePlayers: number;
  totalScores: number;
  averageScore: number | null;
  bestScore: number | null;
}

const selectStats = statement<GameStats>(
  'select_game_stats',
  `select c.plays as "totalPlays", c.scores as "totalScores", b.players as "uniquePlayers", b.best as "bestScore",
          round((c.sum / nullif(c.scores, 0))::numeric, 2)::float8 as "averageScore"
   from (select coalesce(sum(plays), 0)::float8 as plays, coalesce(sum(scores), 0)::float8 as scores, coalesce(sum(score_sum), 0)::float8 as sum
         from game_counters where game_id = $1) c,
        (select count(*)::int as players, max(total)::float8 as best from standings where board = $2 and mode = 'regular' and total > 0) b`,
);

const cache = perApp((app) =>
  ttlCache<string, GameStats>(MAX_AGE_MS, async (gameId) => {
    const stats = (await app.db.query(selectStats, [gameId, gameBoard(gameId)]))[0];
    if (!stats) throw new Error('the statement select_game_stats returned no row');
    return stats;
  }),
);

/**
 * Returns a game's stats, at most 2 s old. Precondition: the game exists. The cache stores an entry for every id that is passed, so unknown ids would
 * fill the cache.
 */
export function gameStats(app: App, gameId: string): Promise<GameStats> {
  return app.state(cache).get(gameId);
}
