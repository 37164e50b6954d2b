import { z } from 'zod';
import { reply, route } from '../../../http/route.ts';
import { listCabinets } from '../cabinets.ts';
import { loadGames } from '../registry.ts';
import { ArcadeState, CabinetView } from '../schema.ts';
import { readTheme } from '../theme.ts';

const arcadeState = route({
  method: 'get',
  path: '/arcade/state',
  auth: 'public',
  summary: 'Theme, events and figures of the arcade',
  returns: { 200: ArcadeState },
  fails: [],
  handler: async ({ app }) => {
    const [{ theme, version }, cabinets, games] = await Promise.all([readTheme(app.db), listCabinets(app.db), loadGames(app)]);
    return reply(200, {
      theme,
      themeVersion: version,
      activeEvents: [],
      arcade: {
        name: 'Coinop',
        games: games.size,
        categories: [...new Set([...games.values()].map((game) => game.category))].sort(),
        cabinets: cabinets.length,
        possessed: cabinets.filter((cabinet) => cabinet.status === 'possessed').length,
      },
    });
  },
});

const cabinets = route({
  method: 'get',
  path: '/arcade/cabinets',
  auth: 'public',
  summary: 'The cabinets, and who controls them',
  returns: { 200: z.array(CabinetView) },
  fails: [],
  handler: async ({ app }) => reply(200, await listCabinets(app.db)),
});

export const cabinetRoutes = [arcadeState, cabinets];
