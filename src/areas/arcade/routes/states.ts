import { fail } from '#lib/errors.ts';
import { inTurn } from '#platform/db/turns.ts';
import { textOf } from '#platform/http/body.ts';
import { jsonOrStream, reply, route } from '#platform/http/route.ts';
import { withinQuota } from '#platform/quotas/usage.ts';
import { findGame } from '../games/registry.ts';
import { readState, type SavedState, saveState } from '../saves/states.ts';
import { GamePath, StateInput, StateSaved, StateView } from '../schemas.ts';
import { expectedVersions, isNotModified, versionTag } from '../versions.ts';

const readSaved = route({
  method: 'get',
  path: '/game/{id}/state',
  auth: 'session',
  summary: 'Read the caller’s saved state of a game',
  description:
    'The ETag is the version of the saved state. A request with this ETag in If-None-Match gets 304. Before the first save, state is null and version is 0.',
  params: GamePath,
  returns: { 200: jsonOrStream(StateView, 'application/json'), 304: null },
  fails: [404],
  handler: async ({ app, params, wallet, ctx }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    const saved = await readState(app.db, wallet, game.id);
    const headers = { ETag: versionTag(saved.version), 'Cache-Control': 'private, no-cache' };
    if (isNotModified(ctx, saved.version)) return reply(304, null, headers);
    return reply(200, encode(game.id, saved), headers);
  },
});

/** Returns the JSON of a saved state. Inserts the text of the state unparsed, so that the order of keys and the digits of long numbers stay. */
function encode(gameId: string, { state, version, updatedAt }: SavedState): string {
  return `{"gameId":${JSON.stringify(gameId)},"state":${state ?? 'null'},"version":${version},"updatedAt":${JSON.stringify(updatedAt)}}`;
}

const save = route({
  method: 'put',
  path: '/game/{id}/state',
  auth: 'session',
  summary: 'Save the caller’s state of a game',
  description:
    'Any JSON up to 256 KB. The text of the state is kept as it was sent, so the order of keys and the digits of long numbers stay. With If-Match, the request replaces only the named version; "0" means that no state was saved before. All states of a wallet together have a quota: 409 when a larger state would exceed it.',
  params: GamePath,
  body: StateInput,
  returns: { 200: StateSaved },
  fails: [404, 409, 412],
  handler: async ({ app, params, wallet, bytes, ctx }) => {
    if (bytes.length === 0) throw fail(400, 'the body must be the state as JSON');
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    const expected = expectedVersions(ctx);
    const text = textOf(bytes);
    const save = () => app.tx((tx) => withinQuota(app, tx, 'states', wallet, () => saveState(tx, wallet, game.id, text, expected)));
    // The quota locks a row per wallet, so the requests of a wallet take turns, also in different games.
    const saved = await inTurn(app, `state ${wallet}`, save);
    return reply(200, { gameId: game.id, ...saved }, { ETag: versionTag(saved.version) });
  },
});

export const stateRoutes = [readSaved, save];
