import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { SCALE } from '#lib/normalization.ts';
import { reply, route } from '#platform/http/route.ts';
import { earnsRewards, publicCaps } from '../games/definition.ts';
import { findGame, loadGames } from '../games/registry.ts';
import { gameStats } from '../games/stats.ts';
import { GamePath, GameStatsView, GameSummary, gameSummary, NormalizationConfig } from '../schemas.ts';

/** Cache-Control of the registry of games: clients may cache it for 5 s. */
const CACHE = 'public, max-age=5';

const listGames = route({
  method: 'get',
  path: '/config/games',
  auth: 'public',
  summary: 'List the games of the arcade',
  returns: { 200: z.array(GameSummary) },
  fails: [],
  cache: CACHE,
  handler: async ({ app }) => {
    const games = await loadGames(app);
    return reply(200, [...games.values()].map(gameSummary));
  },
});

const normalization = route({
  method: 'get',
  path: '/config/normalization',
  auth: 'public',
  summary: 'Read how scores are normalized and how points are capped',
  description: `Scores of every game are normalized to 0–${SCALE}. Points are floor(normalized × pointsPer10000 / ${SCALE}), up to the daily caps of the game and of the wallet. linear: (score − min) / (max − min). log: ln(1 + score − min) / ln(1 + max − min). piecewise: linear interpolation between points. If lower is better, the formulas use the distance from max in place of the distance from min.`,
  returns: { 200: NormalizationConfig },
  fails: [],
  cache: CACHE,
  handler: async ({ app }) => {
    const games = [...(await loadGames(app)).values()].map((game) => ({
      id: game.id,
      normalization: game.normalization,
      pointsPer10000: game.pointsPer10000,
      caps: publicCaps(game.caps),
      verification: game.verification,
      rewards: earnsRewards(game),
    }));
    return reply(200, { scale: SCALE, dailyPointsCap: app.config.dailyPointsCap, games });
  },
});

const stats = route({
  method: 'get',
  path: '/game/{id}/stats',
  auth: 'public',
  summary: 'Read the stats of a game',
  description:
    'All values count regular mode only, and are of one moment, at most two seconds ago. A void takes its score out of the scores, the average and the best; its play and its player still count.',
  params: GamePath,
  returns: { 200: GameStatsView },
  fails: [404],
  handler: async ({ app, params }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    return reply(200, { gameId: game.id, ...(await gameStats(app, game.id)) });
  },
});

export const registryRoutes = [listGames, normalization, stats];
