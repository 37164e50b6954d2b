import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { findGame } from '../registry.ts';
import { FreeJson, GamePath, StateSaved, StateView } from '../schemas.ts';
import { readState, saveState } from '../states.ts';
import { alreadyHas, expectedVersions, versionTag } from '../versions.ts';

const readSaved = route({
  method: 'get',
  path: '/game/{id}/state',
  auth: 'session',
  summary: 'Read one’s saved state of a game',
  description: 'The ETag names the version; If-None-Match with it is answered with 304. Nothing saved yet: state null, version 0.',
  params: GamePath,
  returns: { 200: StateView, 304: null },
  fails: [404],
  handler: async ({ app, params, wallet, ctx }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    const saved = await readState(app.db, wallet, game.id);
    const headers = { ETag: versionTag(saved.version), 'Cache-Control': 'private, no-cache' };
    if (alreadyHas(ctx, saved.version)) return reply(304, null, headers);
    return reply(200, { gameId: game.id, ...saved }, headers);
  },
});

const save = route({
  method: 'put',
  path: '/game/{id}/state',
  auth: 'session',
  summary: 'Save one’s state of a game',
  description: 'Any JSON up to 256 KB. With If-Match it replaces only the version named; "0" names a state that was never saved.',
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
