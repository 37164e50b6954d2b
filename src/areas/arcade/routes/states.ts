import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { findGame } from '../games/registry.ts';
import { readState, saveState } from '../saves/states.ts';
import { FreeJson, GamePath, StateSaved, StateView } from '../schemas.ts';
import { expectedVersions, isNotModified, versionTag } from '../versions.ts';

const readSaved = route({
  method: 'get',
  path: '/game/{id}/state',
  auth: 'session',
  summary: 'Read the caller’s saved state of a game',
  description:
    'The ETag is the version of the saved state. A request with this ETag in If-None-Match gets 304. Before the first save, state is null and version is 0.',
  params: GamePath,
  returns: { 200: StateView, 304: null },
  fails: [404],
  handler: async ({ app, params, wallet, ctx }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    const saved = await readState(app.db, wallet, game.id);
    const headers = { ETag: versionTag(saved.version), 'Cache-Control': 'private, no-cache' };
    if (isNotModified(ctx, saved.version)) return reply(304, null, headers);
    return reply(200, { gameId: game.id, ...saved }, headers);
  },
});

const save = route({
  method: 'put',
  path: '/game/{id}/state',
  auth: 'session',
  summary: 'Save the caller’s state of a game',
  description: 'Any JSON up to 256 KB. With If-Match, the request replaces only the named version; "0" means that no state was saved before.',
  params: GamePath,
  body: FreeJson,
  returns: { 200: StateSaved },
  fails: [404, 412],
  handler: async ({ app, params, wallet, body, ctx }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    const saved = await app.tx((tx) => saveState(tx, wallet, game.id, body, expectedVersions(ctx)));
    return reply(200, { gameId: game.id, ...saved }, { ETag: versionTag(saved.version) });
  },
});

export const stateRoutes = [readSaved, save];
