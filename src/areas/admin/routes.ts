import { CabinetView, earnsRewards, expectedVersions, findGame, forgetGames, GameView, putCabinet, putGame, versionTag } from '#areas/arcade';
import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { CabinetIdPath, CabinetRequest, GameIdPath, GameRequest } from './schemas.ts';

const putGameRoute = route({
  method: 'put',
  path: '/admin/games/{id}',
  auth: { admin: 'content' },
  summary: 'Create or change a game',
  description:
    'Takes effect within a second everywhere. The ETag names the version; with If-Match only that version is replaced. What already is as asked keeps its version.',
  params: GameIdPath,
  body: GameRequest,
  returns: { 200: GameView, 201: GameView },
  fails: [412],
  handler: async ({ app, params, body, ctx }) => {
    const { secret, ...definition } = body;
    const { game, created } = await app.tx((tx) => putGame(tx, { id: params.id, definition, secret }, expectedVersions(ctx)));
    forgetGames(app);
    const { secret: kept, ...shown } = game;
    const view = { ...shown, rewards: earnsRewards(game), hasSecret: kept !== null };
    return reply(created ? 201 : 200, view, { ETag: versionTag(game.version) });
  },
});

const putCabinetRoute = route({
  method: 'put',
  path: '/admin/cabinets/{id}',
  auth: { admin: 'content' },
  summary: 'Create or change a cabinet',
  description: 'The ETag names the version; with If-Match only that version is replaced. Who possesses it stays.',
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

export const adminRoutes = [putGameRoute, putCabinetRoute];
