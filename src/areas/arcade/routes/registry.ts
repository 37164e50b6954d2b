import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { SCALE } from '#lib/normalization.ts';
import { reply, route } from '#platform/http/route.ts';
import { earnsRewards } from '../game.ts';
import { findGame, loadGames } from '../registry.ts';
import { GamePath, GameStatsView, GameSummary, NormalizationConfig } from '../schemas.ts';
import { gameStats } from '../stats.ts';

/** Clients may keep the registry a little longer than our processes do. */
const CACHE = 'public, max-age=5';

const listGames = route({
  method: 'get',
  path: '/config/games',
  auth: 'public',
  summary: 'The games of the arcade',
  returns: { 200: z.array(GameSummary) },
  fails: [],
  cache: CACHE,
  handler: async ({ app }) => {
    const games = await loadGames(app);
    return reply(
      200,
      [...games.values()].map(({ id, name, category, verification, version }) => ({ id, name, category, verification, version })),
    );
  },
});

const normalization = route({
  method: 'get',
  path: '/config/normalization',
  auth: 'public',
  summary: 'How scores are normalized, and what caps points',
  description: `Every game's scores come to 0–${SCALE}; points are floor(normalized × pointsPer10000 / ${SCALE}), within the caps of the game and of the day. linear: (score − min) / (max − min); log: ln(1 + score − min) / ln(1 + max − min); piecewise: straight between points. Where lower is better, the distance from max counts instead.`,
  returns: { 200: NormalizationConfig },
  fails: [],
  cache: CACHE,
  handler: async ({ app }) => {
    const games = [...(await loadGames(app)).values()].map((game) => ({
      id: game.id,
      normalization: game.normalization,
      pointsPer10000: game.pointsPer10000,
      caps: game.caps,
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
  summary: 'What a game has seen',
  description: 'Up to two seconds old.',
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
