import {
  CabinetView,
  earnsRewards,
  expectedVersions,
  findGame,
  GameView,
  invalidateGames,
  loadSimulation,
  putCabinet,
  putGame,
  versionTag,
} from '#areas/arcade';
import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { CabinetIdPath, CabinetRequest, GameIdPath, GameRequest } from '../schemas.ts';

const putGameRoute = route({
  method: 'put',
  path: '/admin/games/{id}',
  auth: { admin: 'content' },
  summary: 'Create or change a game',
  description:
    'A change takes effect in every process within a second. The ETag is the version. With If-Match, the request replaces only the named version. A request that changes nothing keeps the version.',
  params: GameIdPath,
  body: GameRequest,
  returns: { 200: GameView, 201: GameView },
  fails: [412],
  handler: async ({ app, params, body, ctx }) => {
    const { secret, ...definition } = body;
    if (definition.simulation !== undefined && !(await loadSimulation(app, definition.simulation))) {
      throw fail(400, 'simulation must be the hash of an uploaded simulation');
    }
    const { game, created } = await app.tx((tx) => putGame(tx, { id: params.id, definition, secret }, expectedVersions(ctx)));
    invalidateGames(app);
    const { secret: storedSecret, ...shown } = game;
    const view = { ...shown, rewards: earnsRewards(game), hasSecret: storedSecret !== null };
    return reply(created ? 201 : 200, view, { ETag: versionTag(game.version) });
  },
});

const putCabinetRoute = route({
  method: 'put',
  path: '/admin/cabinets/{id}',
  auth: { admin: 'content' },
  summary: 'Create or change a cabinet',
  description: 'The ETag is the version. With If-Match, the request replaces only the named version. `possessedBy` does not change.',
  params: CabinetIdPath,
  body: CabinetRequest,
  returns: { 200: CabinetView, 201: CabinetView },
  fails: [412],
  handler: async ({ app, params, body, ctx }) => {
    if (!(await findGame(app, body.gameId))) throw fail(400, 'gameId must be a game of this arcade');
    const { cabinet, created } = await app.tx((tx) => putCabinet(tx, { id: params.id, ...body }, expectedVersions(ctx)));
    return reply(created ? 201 : 200, cabinet, { ETag: versionTag(cabinet.version) });
  },
});

export const registryRoutes = [putGameRoute, putCabinetRoute];
