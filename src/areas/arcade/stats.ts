import { gameBoard } from '#areas/points';
import { type TtlCache, ttlCache } from '#lib/ttl-cache.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';

/** How long a process tells the same figures of a game: they cost one read of its board. */
const MAX_AGE_MS = 2_000;

/** What a game has seen. Scores are normalized ones; averages and bests are null while there are none. */
export interface GameStats {
  totalPlays: number;
  /** Wallets that are listed on the game's board. */
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

const caches = new WeakMap<App, TtlCache<string, GameStats>>();

/** A game's figures, at most 2 s old. The game must exist. */
export function gameStats(app: App, gameId: string): Promise<GameStats> {
  let cache = caches.get(app);
  if (!cache) {
    cache = ttlCache(MAX_AGE_MS, async (id) => {
      const stats = (await app.db.query(selectStats, [id, gameBoard(id)]))[0];
      if (!stats) throw new Error('game_counters did not answer');
      return stats;
    });
    caches.set(app, cache);
  }
  return cache.get(gameId);
}
